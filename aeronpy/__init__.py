"""Aeron for Python, whole: transport, media driver, archive and analytics, without a JVM."""

from aeronpy._core.native import BufferClaim as BufferClaim
from aeronpy._core.native import CounterInfo as CounterInfo
from aeronpy._core.native import CountersReader as CountersReader
from aeronpy._core.native import FragmentAssembler as FragmentAssembler
from aeronpy._core.native import FragmentView as FragmentView
from aeronpy._core.native import Header as Header
from aeronpy._core.native import Image as Image
from aeronpy._core.native import MessageBatch as MessageBatch
from aeronpy.client.aeron import Aeron as Aeron
from aeronpy.client.aeron import is_driver_active as is_driver_active
from aeronpy.client.aeron import request_driver_termination as request_driver_termination
from aeronpy.client.counter import Counter as Counter
from aeronpy.client.message import Message as Message
from aeronpy.client.protocol import ErrorCode as ErrorCode
from aeronpy.client.protocol import PublicationError as PublicationError
from aeronpy.client.publication import ExclusivePublication as ExclusivePublication
from aeronpy.client.publication import Publication as Publication
from aeronpy.client.subscription import Subscription as Subscription
from aeronpy.client.values import ChannelStatus as ChannelStatus
from aeronpy.client.values import ControlledAction as ControlledAction
from aeronpy.client.values import OfferResult as OfferResult
from aeronpy.uri import Channel as Channel

__version__ = "0.1.0"
