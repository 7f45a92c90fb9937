"""``aeronpy log``: what is in the file of a log buffer."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final

import click
from rich.table import Table
from rich.text import Text

from aeronpy.cli.common import console, directory_option, foreign, json_option
from aeronpy.errors import NotFoundError
from aeronpy.observe.logs import DATA, HEADER_BYTES, PAD, PARTITIONS, TERM_MAX, Frame, FrameHeader, LogFile, find_log

RULE: Final = "=" * 70
PEOPLE_BYTES: Final = 48
PEOPLE_FRAMES: Final = 100
LOG_TYPES: Final = {0: "concurrent publication", 1: "exclusive publication", 2: "image"}


def in_hex(payload: bytes) -> str:
    """Two digits for each byte."""
    return payload.hex().upper()


def in_ascii(payload: bytes) -> str:
    """One character for each byte, NUL for what is beyond ASCII."""
    return bytes(each if each < 0x80 else 0 for each in payload).decode("ascii")


def in_print(payload: bytes) -> str:
    """One character for each byte, a dot for what a terminal must not see."""
    return "".join(chr(each) if 0x20 <= each < 0x7F else "." for each in payload)


FORMATS: Final[dict[str, Callable[[bytes], str]]] = {"hex": in_hex, "ascii": in_ascii, "us-ascii": in_ascii}


def header_text(header: FrameHeader) -> str:
    """All fields of a header, as Aeron writes them."""
    return (
        f"DATA Header{{frame-length={header.frame_length} version={header.version} flags={header.flags:08b} "
        f"type={header.type & 0xFFFF} term-offset={header.term_offset} session-id={header.session_id} "
        f"stream-id={header.stream_id} term-id={header.term_id} reserved-value={header.reserved_value}}}"
    )


def facts(log: LogFile) -> Iterator[tuple[str, str]]:
    """Names and values of the head, in the order that scripts know."""
    fields = log.metadata.fields
    yield "Is connected", str(fields["is_connected"] == 1).lower()
    yield "Initial term id", str(fields["initial_term_id"])
    yield "Term count", str(fields["active_term_count"])
    yield "Active index", str(log.metadata.active_partition)
    yield "Term length", str(fields["term_length"])
    yield "MTU length", str(fields["mtu_length"])
    yield "Page size", str(fields["page_size"])
    yield "EOS position", str(fields["end_of_stream_position"])


def head_lines(log: LogFile, skip_default_header: bool) -> Iterator[str]:
    """Everything before the terms."""
    now = datetime.now().astimezone()
    yield RULE
    yield f"{now:%a %b %d %H:%M:%S %Z %Y} Inspection dump for {log.path}"
    yield RULE
    for name, value in facts(log):
        yield f"{name:>15}: {value}"
    yield ""
    yield "" if skip_default_header else f"default {header_text(log.metadata.default_header)}\n"
    for tail in log.metadata.tails:
        yield (
            f"Index {tail.partition} Term Meta Data termOffset={tail.term_offset} termId={tail.term_id} "
            f"rawTail={tail.raw} position={tail.position}"
        )


def plain_lines(
    log: LogFile, form: Callable[[bytes], str], limit: int, skip_default_header: bool, over_zeroes: bool
) -> Iterator[str]:
    """The layout that scripts know."""
    yield from head_lines(log, skip_default_header)
    for partition in range(PARTITIONS):
        yield ""
        yield RULE
        yield f"Index {partition} Term Data\n"
        for frame in log.frames(partition, payload_max=limit, over_zeroes=over_zeroes):
            yield f"{frame.offset}: {header_text(frame.header)}"
            if frame.header.frame_length != 0 or not over_zeroes:
                yield form(frame.payload)


def frame_object(frame: Frame, form: Callable[[bytes], str]) -> dict[str, object]:
    """What --json prints of a frame."""
    header = frame.header
    return {
        "offset": frame.offset,
        "frame_length": header.frame_length,
        "version": header.version,
        "flags": header.flags,
        "type": header.type,
        "term_offset": header.term_offset,
        "session_id": header.session_id,
        "stream_id": header.stream_id,
        "term_id": header.term_id,
        "reserved_value": header.reserved_value,
        "payload": form(frame.payload),
    }


def json_chunks(log: LogFile, form: Callable[[bytes], str], limit: int, over_zeroes: bool) -> Iterator[str]:
    """One object, in pieces: a log may have more frames than memory has room for."""
    metadata = log.metadata
    tails: list[dict[str, int]] = [
        {"partition": t.partition, "raw": t.raw, "term_id": t.term_id, "term_offset": t.term_offset}
        for t in metadata.tails
    ]
    head: dict[str, Any] = {"path": log.path, "file_length": log.length, "metadata": metadata.fields, "tails": tails}
    head["default_header"] = frame_object(Frame(0, metadata.default_header, b""), form)
    yield json.dumps(head)[:-1] + ', "terms": ['
    for partition in range(PARTITIONS):
        yield f'{", " if partition else ""}{{"partition": {partition}, "frames": ['
        comma = ""
        for frame in log.frames(partition, payload_max=limit, over_zeroes=over_zeroes):
            if frame.header.frame_length >= HEADER_BYTES or frame.header.frame_length < 0:
                yield comma + json.dumps(frame_object(frame, form))
                comma = ", "
        yield "]}"
    yield "]}\n"


def kind_of(header: FrameHeader) -> Text:
    """A frame in a word, with what stands out coloured."""
    if header.frame_length < 0:
        return Text("being written", style="bold yellow")
    if 0 < header.frame_length < HEADER_BYTES or header.type not in (PAD, DATA):
        return Text(f"broken (type {header.type}, length {header.frame_length})", style="bold red")
    if header.type == PAD:
        return Text("padding", style="dim")
    letters = {0xC0: "message", 0x80: "begins", 0x40: "ends", 0x00: "goes on"}
    return Text(letters.get(header.flags & 0xC0, ""))


def show(log: LogFile, form: Callable[[bytes], str], limit: int) -> None:
    """The same for people: what is not there is left out."""
    terminal = console()
    head = Table(box=None, pad_edge=False, show_header=False)
    head.add_column(style="cyan")
    fields = log.metadata.fields
    default = log.metadata.default_header
    head.add_row("file", foreign(log.path))
    head.add_row("is a", LOG_TYPES.get(fields["type"], f"log of type {fields['type']}"))
    head.add_row("stream, session", f"{default.stream_id}, {default.session_id}")
    for name, value in facts(log):
        head.add_row(name.lower(), value)
    terminal.print(head)
    for partition, tail in enumerate(log.metadata.tails):
        active = ", active" if partition == log.metadata.active_partition else ""
        terminal.print(f"\nterm {tail.term_id} (index {partition}{active}), tail at {tail.term_offset}", style="bold")
        frames = Table(box=None, pad_edge=False)
        for name in ("offset", "length", "", "payload"):
            frames.add_column(
                name, justify="right" if name in ("offset", "length") else "left", no_wrap=name != "payload"
            )
        rest = ""
        for frame in log.frames(partition, payload_max=limit):
            left = log.metadata.term_length - frame.offset
            if frame.header.frame_length == 0:
                rest = f"nothing in the last {left:,} bytes"
                break
            if frames.row_count == PEOPLE_FRAMES:
                rest = f"more in the last {left:,} bytes: pipe it to see all"
                break
            row = str(frame.offset), str(frame.header.frame_length), kind_of(frame.header), Text(form(frame.payload))
            frames.add_row(*row)
        if frames.row_count:
            terminal.print(frames)
        if rest:
            terminal.print(rest, style="dim")


def path_of(aeron_dir: str, log: str) -> str:
    """A path, or the id of a publication or an image of the directory."""
    if os.path.exists(log) or not log.lstrip("-").isdecimal():
        return log
    found = find_log(aeron_dir, int(log))
    if found is None:
        raise NotFoundError(f"there is no file {log}, and no log of that id in {aeron_dir}")
    return found


@click.command("log")
@click.argument("log")
@click.argument("limit", type=click.IntRange(min=0), required=False)
@click.option("--format", "-f", "form", type=click.Choice(list(FORMATS)), default="hex", show_default=True)
@click.option("--skip-default-header", is_flag=True, help="Leave out the header that publishers start from.")
@click.option("--scan-over-zeroes", "-z", is_flag=True, help="Go on where a term has nothing, 32 bytes at a time.")
@directory_option
@json_option
def command(
    *,
    log: str,
    limit: int | None,
    form: str,
    skip_default_header: bool,
    scan_over_zeroes: bool,
    aeron_dir: str,
    as_json: bool,
) -> None:
    """Show the metadata and the frames of a log: a file, or the id of a publication or an image of the driver.

    LIMIT is how many bytes of each message are shown; all of them unless in a terminal.

    Example: aeronpy log /dev/shm/aeron-bob/publications/7.logbuffer 64 --format ascii
    """
    terminal = sys.stdout.isatty()
    write = FORMATS[form]
    with LogFile(path_of(aeron_dir, log)) as opened:
        if as_json:
            for chunk in json_chunks(opened, write, TERM_MAX if limit is None else limit, scan_over_zeroes):
                click.echo(chunk, nl=False)
        elif terminal and not scan_over_zeroes:
            show(opened, in_print if write is in_ascii else write, PEOPLE_BYTES if limit is None else limit)
        else:
            bytes_max = TERM_MAX if limit is None else limit
            for line in plain_lines(opened, write, bytes_max, skip_default_header, scan_over_zeroes):
                click.echo(line)
