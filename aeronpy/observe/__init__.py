"""What a driver shows to the world: counters, errors, loss and streams, read from its directory."""

from aeronpy._core.native import CncFile, CounterInfo, CountersReader, ErrorRecord, LossEntry
from aeronpy.observe.backlog import (
    PublisherBacklog,
    ReceiverBacklog,
    SenderBacklog,
    StreamBacklog,
    SubscriberBacklog,
    read_backlog,
)
from aeronpy.observe.counters import (
    Counter,
    CounterFilter,
    DriverSnapshot,
    local_addresses,
    read_counters,
)
from aeronpy.observe.errors import read_error_file, read_errors
from aeronpy.observe.files import open_cnc
from aeronpy.observe.keys import (
    AddressKey,
    ArchiveKey,
    ChannelKey,
    ClusterKey,
    ControlSessionKey,
    HeartbeatKey,
    Key,
    RecordingKey,
    ServiceKey,
    StreamKey,
    SystemKey,
    decode_key,
)
from aeronpy.observe.loss import read_loss
from aeronpy.observe.streams import Stream, StreamCounter, group_streams
from aeronpy.observe.types import ChannelStatus, CounterType, SystemCounter, type_name

__all__ = [
    "AddressKey",
    "ArchiveKey",
    "ChannelKey",
    "ChannelStatus",
    "ClusterKey",
    "CncFile",
    "ControlSessionKey",
    "Counter",
    "CounterFilter",
    "CounterInfo",
    "CounterType",
    "CountersReader",
    "DriverSnapshot",
    "ErrorRecord",
    "HeartbeatKey",
    "Key",
    "LossEntry",
    "PublisherBacklog",
    "ReceiverBacklog",
    "RecordingKey",
    "SenderBacklog",
    "ServiceKey",
    "Stream",
    "StreamBacklog",
    "StreamCounter",
    "StreamKey",
    "SubscriberBacklog",
    "SystemCounter",
    "SystemKey",
    "decode_key",
    "group_streams",
    "local_addresses",
    "open_cnc",
    "read_backlog",
    "read_counters",
    "read_error_file",
    "read_errors",
    "read_loss",
    "type_name",
]
