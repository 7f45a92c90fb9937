"""Aeron for Python, whole: transport, media driver, archive and analytics, without a JVM.

Public names are imported at first use, so that what is pure Python (recordings, Spark) works where the compiled
module is not installed. A new name goes into both lists.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from aeronpy._core.native import BufferClaim as BufferClaim
    from aeronpy._core.native import ControlledFragmentAssembler as ControlledFragmentAssembler
    from aeronpy._core.native import CounterInfo as CounterInfo
    from aeronpy._core.native import CountersReader as CountersReader
    from aeronpy._core.native import FragmentAssembler as FragmentAssembler
    from aeronpy._core.native import FragmentView as FragmentView
    from aeronpy._core.native import Header as Header
    from aeronpy._core.native import Image as Image
    from aeronpy._core.native import ImageControlledFragmentAssembler as ImageControlledFragmentAssembler
    from aeronpy._core.native import ImageFragmentAssembler as ImageFragmentAssembler
    from aeronpy._core.native import MessageBatch as MessageBatch
    from aeronpy._core.native import NativeHandle as NativeHandle
    from aeronpy.client.aeron import Aeron as Aeron
    from aeronpy.client.aeron import is_driver_active as is_driver_active
    from aeronpy.client.aeron import request_driver_termination as request_driver_termination
    from aeronpy.client.counter import Counter as Counter
    from aeronpy.client.message import Message as Message
    from aeronpy.client.protocol import PublicationError as PublicationError
    from aeronpy.client.publication import ExclusivePublication as ExclusivePublication
    from aeronpy.client.publication import Publication as Publication
    from aeronpy.client.subscription import Subscription as Subscription
    from aeronpy.client.values import ChannelStatus as ChannelStatus
    from aeronpy.client.values import ControlledAction as ControlledAction
    from aeronpy.client.values import OfferResult as OfferResult
    from aeronpy.driver import MediaDriver as MediaDriver
    from aeronpy.driver import ThreadingMode as ThreadingMode
    from aeronpy.native import get_include as get_include
    from aeronpy.protocol import ErrorCode as ErrorCode
    from aeronpy.uri import Channel as Channel

__version__ = "0.1.0"

_HOMES: Final = {
    "BufferClaim": "aeronpy._core.native",
    "ControlledFragmentAssembler": "aeronpy._core.native",
    "CounterInfo": "aeronpy._core.native",
    "CountersReader": "aeronpy._core.native",
    "FragmentAssembler": "aeronpy._core.native",
    "FragmentView": "aeronpy._core.native",
    "Header": "aeronpy._core.native",
    "Image": "aeronpy._core.native",
    "ImageControlledFragmentAssembler": "aeronpy._core.native",
    "ImageFragmentAssembler": "aeronpy._core.native",
    "MessageBatch": "aeronpy._core.native",
    "NativeHandle": "aeronpy._core.native",
    "Aeron": "aeronpy.client.aeron",
    "is_driver_active": "aeronpy.client.aeron",
    "request_driver_termination": "aeronpy.client.aeron",
    "Counter": "aeronpy.client.counter",
    "Message": "aeronpy.client.message",
    "ErrorCode": "aeronpy.protocol",
    "PublicationError": "aeronpy.client.protocol",
    "ExclusivePublication": "aeronpy.client.publication",
    "Publication": "aeronpy.client.publication",
    "Subscription": "aeronpy.client.subscription",
    "ChannelStatus": "aeronpy.client.values",
    "ControlledAction": "aeronpy.client.values",
    "OfferResult": "aeronpy.client.values",
    "MediaDriver": "aeronpy.driver",
    "ThreadingMode": "aeronpy.driver",
    "get_include": "aeronpy.native",
    "Channel": "aeronpy.uri",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
