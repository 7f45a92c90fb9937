"""What a channel says about a publication, checked (spec: client/driver protocol, sections 8 and 9)."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from aeronpy.driver.channels.channel_values import (
    bad_value,
    duration_of,
    flag_of,
    i32_of,
    response_correlation_id_of,
    size_of,
    tags_of,
    value_of,
)
from aeronpy.driver.conductor.refusals import refuse
from aeronpy.driver.publications.session_ids import wrap_i32
from aeronpy.driver.settings.context import MediaDriverContext
from aeronpy.protocol import ErrorCode
from aeronpy.uri import NULL_VALUE, PROTOTYPE_CORRELATION_ID, ChannelUri, parse_integer

_TERM_MIN, _TERM_MAX = 64 << 10, 1 << 30
_MTU_MAX = 65504
_FRAME_ALIGN = 32


class PublicationParams(NamedTuple):
    """Of one add: ``given`` names the parameters that its channel spelled out, as the texts in it."""

    given: frozenset[str]
    term_length: int
    mtu: int
    window_length: int
    session_id: int | None
    entity_tag: int
    initial_term_id: int
    term_id: int
    term_offset: int
    linger_ns: int
    untethered_window_limit_ns: int
    untethered_linger_ns: int
    untethered_resting_ns: int
    sparse: bool
    signal_eos: bool
    spies_simulate_connection: bool
    max_resend: int
    response_correlation_id: int
    is_response: bool

    @classmethod
    def parse(cls, uri: ChannelUri, context: MediaDriverContext, *, is_ipc: bool) -> PublicationParams:
        """Raises RegistrationError: error 11 for values, 1 for grammar."""
        window_limit = duration_of(uri, "untethered-window-limit-timeout", context.untethered_window_limit_timeout)
        linger_default = window_limit if context.untethered_linger_timeout < 0 else context.untethered_linger_timeout
        term_length = _term_length(uri, context.ipc_term_buffer_length if is_ipc else context.term_buffer_length)
        mtu = _mtu(uri, context.ipc_mtu_length if is_ipc else context.mtu_length)
        response_correlation_id = response_correlation_id_of(uri)
        is_response = uri.get("control-mode") == "response"
        if is_response and not is_ipc and response_correlation_id == PROTOTYPE_CORRELATION_ID:
            term_length = _TERM_MIN  # it never carries anything
        initial_term_id, term_id, term_offset = _position(uri, term_length)
        max_resend = value_of(uri, "max-resend", lambda text: parse_integer(text, 1, 256), context.max_resend)
        entity_tag = tags_of(uri)[1]
        return cls(
            given=frozenset(uri.params),
            term_length=term_length,
            mtu=mtu,
            window_length=_window(uri, context, is_ipc, term_length, mtu),
            session_id=None if session_tag_of(uri) is not None else i32_of(uri, "session-id"),
            entity_tag=-1 if entity_tag is None else entity_tag,
            initial_term_id=initial_term_id,
            term_id=term_id,
            term_offset=term_offset,
            linger_ns=duration_of(uri, "linger", context.publication_linger_timeout),
            untethered_window_limit_ns=window_limit,
            untethered_linger_ns=duration_of(uri, "untethered-linger-timeout", linger_default),
            untethered_resting_ns=duration_of(uri, "untethered-resting-timeout", context.untethered_resting_timeout),
            sparse=flag_of(uri, "sparse", context.term_buffer_sparse_file),
            signal_eos=flag_of(uri, "eos", True),
            spies_simulate_connection=flag_of(uri, "ssc", context.spies_simulate_connection),
            max_resend=max_resend,
            response_correlation_id=response_correlation_id,
            is_response=is_response,
        )

    def adopt(self, session_id: int, tagged: PublicationParams, uri: ChannelUri) -> PublicationParams:
        """With the session of another publication, and what streams of one session have in common."""
        for name, existing, wanted in (
            ("mtu", tagged.mtu, self.mtu),
            ("term-length", tagged.term_length, self.term_length),
        ):
            if name in self.given and existing != wanted:
                raise bad_value(
                    uri, name, f"the publication that session-id={uri.get('session-id')} names has {existing}"
                )
        if self.term_offset > tagged.term_length:
            raise bad_value(
                uri, "term-offset", f"it is beyond term-length={tagged.term_length} of the publication named"
            )
        window_length = min(self.window_length, tagged.term_length // 2)
        if "pub-wnd" not in self.given:
            window_length = tagged.window_length
        return self._replace(
            session_id=session_id,
            mtu=tagged.mtu,
            term_length=tagged.term_length,
            window_length=window_length,
        )

    @property
    def wants_response(self) -> bool:
        """Does it ask its receivers to answer on a stream of their own?"""
        return self.response_correlation_id != NULL_VALUE and not self.is_response

    @property
    def start_position(self) -> int:
        """Where the stream begins."""
        return wrap_i32(self.term_id - self.initial_term_id) * self.term_length + self.term_offset

    def check_same(self, other: PublicationParams, session_id: int, uri: ChannelUri) -> None:
        """Error 11 when ``other``, an add of the same stream, asks for what this publication is not."""
        named = (
            ("session-id", session_id, other.session_id),
            ("mtu", self.mtu, other.mtu),
            ("term-length", self.term_length, other.term_length),
            ("init-term-id", self.initial_term_id, other.initial_term_id),
            ("term-id", self.term_id, other.term_id),
            ("term-offset", self.term_offset, other.term_offset),
        )
        for name, existing, wanted in named:
            if name in other.given and existing != wanted:
                raise refuse(
                    ErrorCode.GENERIC_ERROR,
                    f"existing publication has different {name}: existing={existing} requested={wanted} in {uri}",
                )

    def log_settings(self, office_settings: dict[str, Any], *, is_exclusive: bool) -> dict[str, Any]:
        """The log's metadata, but for the ids."""
        return office_settings | {
            "initial_term_id": self.initial_term_id,
            "start_term_id": self.term_id,
            "start_term_offset": self.term_offset,
            "term_length": self.term_length,
            "mtu": self.mtu,
            "publication_window_length": self.window_length,
            "max_resend": self.max_resend if "max-resend" in self.given else 0,
            "entity_tag": self.entity_tag,
            "response_correlation_id": self.response_correlation_id,
            "is_response": self.is_response,
            "linger_timeout_ns": self.linger_ns,
            "untethered_window_limit_timeout_ns": self.untethered_window_limit_ns,
            "untethered_linger_timeout_ns": self.untethered_linger_ns,
            "untethered_resting_timeout_ns": self.untethered_resting_ns,
            "sparse": self.sparse,
            "signal_eos": self.signal_eos,
            "spies_simulate_connection": self.spies_simulate_connection,
            "type": 1 if is_exclusive else 0,
        }


def session_tag_of(uri: ChannelUri) -> int | None:
    """The entity tag in ``session-id=tag:N``, None where the session id is given otherwise or not at all."""
    text = uri.get("session-id")
    if text is None or not text.startswith("tag:"):
        return None
    return value_of(uri, "session-id", _parse_tag, None)


def _parse_tag(text: str) -> int | None:
    return parse_integer(text.removeprefix("tag:"), -(1 << 63), (1 << 63) - 1)


def _term_length(uri: ChannelUri, default: int) -> int:
    length = size_of(uri, "term-length", default)
    if not _TERM_MIN <= length <= _TERM_MAX or length & (length - 1):
        raise bad_value(uri, "term-length", f"it is no power of two from {_TERM_MIN} to {_TERM_MAX}")
    return length


def _mtu(uri: ChannelUri, default: int) -> int:
    length = size_of(uri, "mtu", default)
    if not _FRAME_ALIGN < length <= _MTU_MAX or length % _FRAME_ALIGN:
        raise bad_value(uri, "mtu", f"it is no multiple of {_FRAME_ALIGN} from 64 to {_MTU_MAX}")
    return length


def _window(uri: ChannelUri, context: MediaDriverContext, is_ipc: bool, term_length: int, mtu: int) -> int:
    if uri.get("pub-wnd") is None:
        configured = context.ipc_publication_term_window_length if is_ipc else context.publication_term_window_length
        return min(configured, term_length // 2) if configured else term_length // 2
    length = size_of(uri, "pub-wnd", 0)
    if not mtu <= length <= term_length // 2:
        raise bad_value(uri, "pub-wnd", f"it is outside mtu={mtu} to half of term-length, {term_length // 2}")
    return length


def _position(uri: ChannelUri, term_length: int) -> tuple[int, int, int]:
    """Initial term id, term id and offset; a random initial term id where none are given."""
    keys = ("init-term-id", "term-id", "term-offset")
    given = [key for key in keys if uri.get(key) is not None]
    if not given:
        first = wrap_i32(int.from_bytes(os.urandom(4), "little"))
        return first, first, 0
    if len(given) < len(keys):
        raise refuse(ErrorCode.GENERIC_ERROR, f"params must be used as a complete set: {', '.join(keys)} channel={uri}")
    initial, term = i32_of(uri, "init-term-id"), i32_of(uri, "term-id")
    assert initial is not None
    assert term is not None
    offset = size_of(uri, "term-offset", 0)
    if wrap_i32(term - initial) < 0:
        raise bad_value(uri, "term-id", "it is before init-term-id")
    if offset > term_length or offset % _FRAME_ALIGN:
        raise bad_value(uri, "term-offset", f"it is no multiple of {_FRAME_ALIGN} up to term-length={term_length}")
    return initial, term, offset
