"""Channel texts, as any characters: parsed or refused with ChannelError; what was parsed, written and parsed again is
the same."""

import sys

import atheris

with atheris.instrument_imports(include=["aeronpy.uri", "aeronpy.driver.channels.channel_values"]):
    from aeronpy.errors import ChannelError
    from aeronpy.uri import ChannelUri

PIECES = ("aeron:udp?", "aeron:ipc?", "aeron-spy:", "endpoint=localhost:1", "|", "=", "mtu=8k", "term-length=64k", ":")


def one(data: bytes) -> None:
    provider = atheris.FuzzedDataProvider(data)
    text = ""
    while provider.remaining_bytes():
        choice = provider.ConsumeIntInRange(0, len(PIECES))
        text += provider.ConsumeUnicodeNoSurrogates(8) if choice == len(PIECES) else PIECES[choice]
    for strict in (True, False):
        try:
            uri = ChannelUri.parse(text, strict)
        except ChannelError:
            continue
        assert ChannelUri.parse(str(uri), strict).params == uri.params, text


atheris.Setup(sys.argv, one)
atheris.Fuzz()
