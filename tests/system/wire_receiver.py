"""A receiver made of a socket and struct: it reads what a publication sends, and answers byte by byte."""

from __future__ import annotations

import struct

from tests.system.wire import ERR, SM, Frame, RawSocket

SEND_SETUP = 0x80


class RawReceiver(RawSocket):
    """One receiver id, on a port of its own."""

    def __init__(self, receiver_id: int = 1, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__((host, port))
        self.receiver_id = receiver_id

    @property
    def port(self) -> int:
        return int(self.socket.getsockname()[1])

    def is_silent_for(self, seconds: float) -> bool:
        """Nothing more comes: what was on its way is passed over first."""
        while self.receive(0.02) is not None:
            pass
        return self.receive(seconds) is None

    def sm(
        self,
        to: tuple[str, int],
        setup: Frame | None,
        *,
        flags: int = 0,
        window: int = 32768,
        tag: int | None = None,
    ) -> None:
        """Send a status message for the start of the stream that a SETUP announced; for no stream when None."""
        session, stream, term = (0, 0, 0) if setup is None else (setup.i32(12), setup.i32(16), setup.i32(20))
        if flags & SEND_SETUP:
            term, window = 0, 0
        extra = b"" if tag is None else struct.pack("<q", tag)
        head = struct.pack("<iBBH", 36 + len(extra), 0, flags, SM)
        body = struct.pack("<iiiiiq", session, stream, term, 0, window, self.receiver_id)
        self.socket.sendto(head + body + extra, to)

    def error(self, to: tuple[str, int], setup: Frame, text: bytes) -> None:
        """Refuse the stream."""
        head = struct.pack("<iBBH", 40 + len(text), 0, 0, ERR)
        body = struct.pack("<iiqqii", setup.i32(12), setup.i32(16), self.receiver_id, -1, 13, len(text))
        self.socket.sendto(head + body + text, to)
