"""The exceptions of aeronpy, and the one table from the C core's codes to them.

Every exception derives from `AeronError`, carries its ``code``, and derives from the builtin that fits, so
that ``except TimeoutError`` or ``except ValueError`` work as a reader expects.
"""

from typing import Final


class AeronError(Exception):
    """Root of all errors of this package. ``code`` is the C core's code, or 0 when Python found the fault."""

    code: int

    def __init__(self, message: str = "", code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class ArgumentError(AeronError, ValueError):
    """A value is outside its bounds; the text names the value and the bounds."""


class CorruptError(AeronError, ValueError):
    """Bytes break their format; the text says where and how."""


class StorageError(AeronError, OSError):
    """Not enough space for what was asked; the text has the numbers and the remedy."""


class SystemCallError(AeronError, OSError):
    """A system call failed; the text carries its reason."""


class AeronTimeoutError(AeronError, TimeoutError):
    """What was waited for did not come in time."""


class VersionError(AeronError, ValueError):
    """A file or a peer has a version that cannot be served."""


class StateError(AeronError, RuntimeError):
    """The thing is closed, or not in the state that the call needs."""


class CapacityError(AeronError, BufferError):
    """A bounded queue, ring or table has no room now."""


class TooLongError(ArgumentError):
    """Longer than the format or the stream allows."""


class OutOfMemoryError(AeronError, MemoryError):
    """The C core could not allocate."""


class ActiveError(AeronError, RuntimeError):
    """A live owner holds the directory or file."""


class LappedError(AeronError, RuntimeError):
    """A reader fell so far behind that data was overwritten."""


class ChannelError(ArgumentError):
    """A channel cannot be used as asked; the text names the parameter."""


class NotFoundError(AeronError, LookupError):
    """No such thing."""


class DriverTimeout(AeronTimeoutError):
    """The media driver is missing, dead, or did not answer in time."""


class DriverShutdown(DriverTimeout):
    """The media driver ended in order."""


class DriverRestarted(DriverTimeout):
    """The media driver died, and another one lives in its directory: connect again."""


class DriverUpgraded(DriverRestarted, VersionError):
    """The media driver was replaced by one of another version: connect again, where this client can serve it."""


class ClientTimeout(AeronTimeoutError):
    """The media driver gave up on this client."""


class ConductorServiceTimeout(AeronTimeoutError):
    """The client's conductor was not serviced for too long."""


class RegistrationError(AeronError, ValueError):
    """The driver refused a command: ``error_code`` is the driver's, ``correlation_id`` the command's."""

    def __init__(self, message: str = "", code: int = 0, error_code: int = 0, correlation_id: int = -1) -> None:
        super().__init__(message, code)
        self.error_code = error_code
        self.correlation_id = correlation_id


class ChannelEndpointError(RegistrationError):
    """An endpoint failed after it was made: ``status_id`` is its status counter; the client goes on."""

    def __init__(self, message: str = "", error_code: int = 0, correlation_id: int = -1, status_id: int = -1) -> None:
        super().__init__(message, 0, error_code, correlation_id)
        self.status_id = status_id


class ConcurrentConclude(StateError):
    """A context was used twice: each client and driver needs one of its own."""


class AgentTermination(AeronError):
    """Raised by an agent that wants its runner to end."""


class PublicationClosed(StateError):
    """The publication is closed."""


class MaxPositionExceeded(AeronError, OverflowError):
    """The stream is full for ever; a new publication is needed."""


class ArchiveError(AeronError):
    """An archive operation failed."""


BY_CODE: Final[dict[int, type[AeronError]]] = {
    -1: ArgumentError,
    -2: CorruptError,
    -3: StorageError,
    -4: SystemCallError,
    -5: AeronTimeoutError,
    -6: VersionError,
    -7: StateError,
    -8: CapacityError,
    -9: TooLongError,
    -10: OutOfMemoryError,
    -11: ActiveError,
    -12: LappedError,
    -13: ChannelError,
    -14: NotFoundError,
}
