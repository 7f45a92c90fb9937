"""Settings by Aeron's own names: ``aeron.*`` properties, ``AERON_*`` variables, properties files, keyword arguments.

A context class declares its options; an instance holds each value with where it came from. Arguments win over
properties, those over the environment, that over the default; an empty variable is as good as none. As in Aeron's
driver, a property is found under any spelling of its variable (``aeron.dir`` is ``AERON_DIR``), text that cannot be
parsed keeps the default and values outside their range are clamped, both with a warning in the log; a keyword
argument with such a value raises, since its author can be told.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Generic, NamedTuple, Self, TypeVar, overload

from aeronpy.errors import ArgumentError
from aeronpy.loggers import logger_of
from aeronpy.uri import parse_duration_ns, parse_integer, parse_size

T = TypeVar("T")
PROPERTIES_TIMEOUT_S: Final = 10.0
_log: Final = logger_of(__name__)


def variable_of(property_name: str) -> str:
    """The environment variable of a property: ``aeron.dir`` is ``AERON_DIR``."""
    return property_name.upper().replace(".", "_")


class Setting(NamedTuple):
    """One line of `Settings.describe`."""

    name: str
    property_name: str
    value: object
    origin: str


class Description(list[Setting]):
    """All settings of a context; printed, one a line."""

    def __str__(self) -> str:
        return "\n".join(f"{setting.name} = {setting.value!r} ({setting.origin})" for setting in self)


class Option(Generic[T]):
    """One setting of a context class: its property, default, range and how its text is read."""

    def __init__(
        self,
        property_name: str,
        default: T,
        parse: Callable[[str], T],
        *,
        environment: str | None = None,
        aliases: tuple[str, ...] = (),
        minimum: Any = None,
        maximum: Any = None,
        doc: str = "",
    ) -> None:
        self.property_name = property_name
        self.environment = environment or variable_of(property_name)
        # A property and its variable are one name in two spellings, as in the reference driver.
        self.variables = tuple(dict.fromkeys((self.environment, *map(variable_of, (property_name, *aliases)))))
        self.default = default
        self.parse = parse
        self.minimum = minimum
        self.maximum = maximum
        self.__doc__ = doc
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: Settings, owner: type) -> T: ...
    def __get__(self, instance: Settings | None, owner: type) -> Self | T:
        if instance is None:
            return self
        value: T = instance._values[self.name]
        return value

    def __set__(self, instance: Settings, value: T) -> None:
        instance._set(self, value, "argument")

    def clamp(self, value: T) -> T:
        """The nearest value inside the range."""
        if self.minimum is not None and value < self.minimum:
            return self.minimum  # type: ignore[no-any-return]
        if self.maximum is not None and value > self.maximum:
            return self.maximum  # type: ignore[no-any-return]
        return value


class Choice(Option[str]):
    """One of some words, in any of their spellings; another one is kept as it came, and refused by `check`."""

    def __init__(
        self,
        property_name: str,
        default: str,
        spellings: Mapping[str, tuple[str, ...]],
        *,
        environment: str | None = None,
        aliases: tuple[str, ...] = (),
        plugins: bool = False,
        doc: str = "",
    ) -> None:
        super().__init__(property_name, default, self.canonical, environment=environment, aliases=aliases, doc=doc)
        self.choices = tuple(spellings)
        self._plugins = plugins
        self._canonical = {other: name for name, others in spellings.items() for other in (name, *others)}

    def canonical(self, given: str) -> str:
        """The word that a spelling stands for."""
        return self._canonical.get(given.strip(), given)

    def check(self, value: str) -> None:
        """Raise `ArgumentError` for a word that is none of the choices, nor ``module:function`` where that is one."""
        if value not in self.choices and not (self._plugins and ":" in value):
            raise ArgumentError(
                f"{self.name} ({self.property_name}) is {value!r}, which is none of {', '.join(self.choices)}"
                + nearest_text(value, self._canonical)
            )


def nearest_text(given: str, names: Iterable[str]) -> str:
    """``: did you mean 'x'?`` where one of the names is near, or nothing."""
    import difflib

    found = difflib.get_close_matches(given, list(names), 1)
    return f": did you mean {found[0]!r}?" if found else ""


def duration(
    property_name: str,
    default_ns: int,
    *,
    minimum_ns: int = 0,
    environment: str | None = None,
    aliases: tuple[str, ...] = (),
    doc: str = "",
) -> Option[int]:
    """An option in nanoseconds, written with a unit or plain."""
    return Option(
        property_name,
        default_ns,
        _parse_duration,
        environment=environment,
        aliases=aliases,
        minimum=minimum_ns,
        maximum=(1 << 63) - 1,
        doc=doc,
    )


def _parse_duration(given: str) -> int:
    """Nanoseconds, of however many digits: what is too long is clamped, as everything outside its range."""
    found = re.fullmatch(r"(\d{19,})([num]?s)?", given)
    return 1 << 63 if found is not None and int(found[1]) >= 1 << 63 else parse_duration_ns(given)


def size(
    property_name: str, default: int, *, minimum: int = 0, maximum: int = (1 << 31) - 1, doc: str = ""
) -> Option[int]:
    """An option in bytes, written with k, m, g or plain."""
    return Option(property_name, default, parse_size, minimum=minimum, maximum=maximum, doc=doc)


def integer(
    property_name: str,
    default: int,
    *,
    minimum: int | None = None,
    maximum: int | None = None,
    environment: str | None = None,
    doc: str = "",
) -> Option[int]:
    """A whole number."""
    return Option(
        property_name, default, _parse_i64, environment=environment, minimum=minimum, maximum=maximum, doc=doc
    )


def boolean(property_name: str, default: bool, *, environment: str | None = None, doc: str = "") -> Option[bool]:
    """A truth value: 1, on, true or 0, off, false."""
    return Option(property_name, default, _parse_flag, environment=environment, doc=doc)


def text(property_name: str, default: str, *, environment: str | None = None, doc: str = "") -> Option[str]:
    """Any text."""
    return Option(property_name, default, str, environment=environment, doc=doc)


def _parse_i64(value: str) -> int:
    return parse_integer(value.strip(), -(1 << 63), (1 << 63) - 1)


def _parse_flag(value: str) -> bool:
    word = value.strip().lower()
    if word in ("1", "on", "true"):
        return True
    if word in ("0", "off", "false"):
        return False
    raise ValueError(f"{value!r} is none of 1, on, true, 0, off, false")


class Settings:
    """Base of all contexts: options declared on the class, values resolved at construction."""

    def __init__(
        self,
        *,
        properties: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        **arguments: Any,
    ) -> None:
        """``properties`` are ``aeron.*`` names to texts; ``environment`` replaces ``os.environ`` (for tests)."""
        self._values: dict[str, Any] = {}
        self._origins: dict[str, str] = {}
        variables = os.environ if environment is None else environment
        given_properties = {variable_of(name): (name, value) for name, value in (properties or {}).items()}
        options = {option.name: option for option in self.options()}
        for name in arguments:
            if name not in options:
                raise ArgumentError(f"{type(self).__name__} has no option {name!r}; it has {', '.join(options)}")
        for option in options.values():
            self._values[option.name] = option.default
            self._origins[option.name] = "default"
            in_properties = [given_properties[name] for name in option.variables if name in given_properties]
            in_environment = [name for name in option.variables if variables.get(name)]
            if in_properties:
                self._read(option, in_properties[0][1], f"property {in_properties[0][0]}")
            elif in_environment:
                self._read(option, variables[in_environment[0]], f"environment {in_environment[0]}")
            if arguments.get(option.name) is not None:
                self._set(option, arguments[option.name], "argument")

    @classmethod
    def options(cls) -> Iterator[Option[Any]]:
        """All options, those of base classes first."""
        for owner in reversed(cls.__mro__):
            for value in vars(owner).values():
                if isinstance(value, Option):
                    yield value

    @classmethod
    def variables(cls) -> dict[str, str]:
        """Environment variables that the options are read from, and the property of each."""
        return {variable: option.property_name for option in cls.options() for variable in option.variables}

    def check_choices(self) -> None:
        """Raise `ArgumentError` for the first option whose word is none of its choices."""
        for option in self.options():
            if isinstance(option, Choice):
                option.check(self._values[option.name])

    def _read(self, option: Option[Any], given: str, origin: str) -> None:
        try:
            value = option.parse(given.strip())
        except ValueError as error:
            _log.warning("%s: %s; the default %r is kept", origin, error, option.default)
            return
        clamped = option.clamp(value)
        if clamped != value:
            _log.warning(
                "%s: %r is outside %r to %r; %r is used",
                origin,
                value,
                option.minimum,
                option.maximum,
                clamped,
            )
        self._values[option.name] = clamped
        self._origins[option.name] = origin

    def _set(self, option: Option[Any], value: Any, origin: str) -> None:
        if isinstance(value, os.PathLike):
            value = os.fsdecode(value)
        if isinstance(value, str):
            try:
                value = option.parse(value)
            except ValueError as error:
                raise ArgumentError(f"{option.name}: {error}") from None
        elif isinstance(option.default, int) and hasattr(value, "__index__"):
            value = type(option.default)(value)
        elif option.default is not None and not isinstance(value, type(option.default)):
            wanted, given = type(option.default).__name__, type(value).__name__
            raise ArgumentError(f"{option.name} is {value!r}, of type {given}: {wanted} is wanted, or its text")
        if option.clamp(value) != value:
            raise ArgumentError(
                f"{option.name} is {value!r}, which is outside {option.minimum!r} to {option.maximum!r}"
            )
        self._values[option.name] = value
        self._origins[option.name] = origin

    def describe(self) -> Description:
        """Every setting with its value and where it came from; ``print`` shows one a line."""
        return Description(
            Setting(option.name, option.property_name, self._values[option.name], self._origins[option.name])
            for option in self.options()
        )


def load_properties(source: str) -> dict[str, str]:
    """Properties of a Java properties file, given by path or ``file://`` or ``http://`` URL; raises OSError."""
    import javaproperties

    if source.startswith(("file://", "http://", "https://")):
        # a proxy of the environment is for the world outside, which is not where settings come from
        import urllib.request

        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(source, timeout=PROPERTIES_TIMEOUT_S) as response:
            return dict(javaproperties.loads(response.read().decode("latin-1")))
    with open(source, encoding="latin-1") as file:
        return dict(javaproperties.load(file))


def default_aeron_dir() -> str:
    """The directory that Aeron uses unless told: ``/dev/shm/aeron-<user>`` on Linux."""
    return os.path.join(_memory_dir(), f"aeron-{_user_name()}")


def _memory_dir() -> str:
    if os.path.isdir("/dev/shm"):
        return "/dev/shm"
    import tempfile

    return tempfile.gettempdir()


def _user_name() -> str:
    """As getpass has it, without its terminals."""
    for variable in ("USER", "LOGNAME", "LNAME", "USERNAME"):
        name = os.environ.get(variable)
        if name:
            return name
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except (KeyError, OSError):
        return "default"
