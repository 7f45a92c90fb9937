"""Commands of clients and events of drivers, as any bytes: decoded, or refused with the error that says so."""

import sys

import atheris

with atheris.instrument_imports(include=["aeronpy.driver.conductor.commands", "aeronpy.client.protocol"]):
    from aeronpy.client import protocol
    from aeronpy.driver.conductor import commands
    from aeronpy.errors import AeronError, CorruptError

EVENTS = (
    protocol.PublicationReady.parse,
    protocol.AvailableImage.parse,
    protocol.PublicationError.parse,
    protocol.parse_error,
    protocol.parse_unavailable_image,
    protocol.parse_pair,
    protocol.parse_id,
)


def one(data: bytes) -> None:
    if not data:
        return
    kind, body = data[0], bytes(data[1:])
    try:
        commands.decode(kind, body)
    except AeronError:
        pass
    commands.correlation_id_of(body)
    for parse in EVENTS:
        try:
            parse(body)
        except CorruptError:
            pass


atheris.Setup(sys.argv, one)
atheris.Fuzz()
