"""Rows by the column: what a scan gives for thousands of messages at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from aeronpy.errors import ArgumentError
from aeronpy.recording.columns import Unit, choose_columns
from aeronpy.recording.scan import Arrays
from aeronpy.recording.segments import RecordingFiles

if TYPE_CHECKING:
    import pyarrow as pa

_INCOMPLETE: Final = [
    None,
    "first fragment missing",
    "last fragment missing",
    "first and last fragment missing",
]


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive rows of one recording. Arrays are as long as the batch and owned by it.

    ``arrays`` holds what was asked for, by the scanner's names; ``payload`` is all payloads back to back, and payload
    ``i`` lies at ``payload_offsets[i]`` to ``payload_offsets[i + 1]``.
    """

    files: RecordingFiles
    unit: Unit
    count: int
    arrays: Arrays
    channel: str = ""
    source_identity: str = ""

    def __len__(self) -> int:
        return self.count

    @property
    def position(self) -> NDArray[np.int64]:
        """Where each row's first frame starts."""
        return self.arrays["position"]

    @property
    def end_position(self) -> NDArray[np.int64]:
        """Where each row's last frame ends."""
        return self.arrays["end_position"]

    @property
    def reserved_value(self) -> NDArray[np.int64]:
        """The reserved value of each row's first frame."""
        return self.arrays["reserved_value"]

    @property
    def length(self) -> NDArray[np.int32]:
        """Payload bytes of each row."""
        return self.arrays["length"]

    @property
    def payload(self) -> NDArray[np.uint8]:
        """All payloads back to back."""
        return self.arrays["payload"]

    @property
    def payload_offsets(self) -> NDArray[np.int32]:
        """Where each payload begins in ``payload``, and one more: where the last one ends."""
        return self.arrays["payload_offsets"]

    def payloads(self) -> Iterator[bytes]:
        """Each row's payload as bytes of its own."""
        data, offsets = self.payload.tobytes(), self.payload_offsets.tolist()
        for start, end in pairwise(offsets):
            yield data[start:end]

    def view(self, dtype: DTypeLike) -> NDArray[Any]:
        """All payloads as one structured array, without a copy. Raises ArgumentError where one has another size."""
        record = np.dtype(dtype)
        sizes = np.diff(self.payload_offsets)
        wrong = np.flatnonzero(sizes != record.itemsize)
        if len(wrong):
            index = int(wrong[0])
            where = f"position {int(self.position[index])}" if "position" in self.arrays else f"row {index}"
            raise ArgumentError(
                f"recording {self.files.recording_id}: the message at {where} has {int(sizes[index])} bytes, "
                f"the dtype has {record.itemsize}: all must be alike; read batches() and view what fits"
            )
        return self.payload.view(record)

    def to_arrow(self, columns: Iterable[str] | None = None, schema: pa.Schema | None = None) -> pa.RecordBatch:
        """An Arrow record batch with these columns, by default all of the unit. Payloads are not copied.

        ``schema`` gives names, order, types and nullability instead.
        """
        import pyarrow as pa

        if schema is None:
            schema = arrow_schema(choose_columns(self.unit, columns))
        arrays = [self._arrow_array(field.name.lower(), field.type) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _arrow_array(self, name: str, kind: pa.DataType) -> pa.Array:
        import pyarrow as pa

        constants = {
            "recording_id": self.files.recording_id,
            "session_id": self.files.session_id,
            "stream_id": self.files.stream_id,
            "channel": self.channel,
            "source_identity": self.source_identity,
        }
        if name in constants:
            return pa.repeat(pa.scalar(constants[name], kind), self.count)
        if name == "payload":
            buffers = [None, pa.py_buffer(self.payload_offsets), pa.py_buffer(self.payload)]
            return pa.Array.from_buffers(pa.binary(), self.count, buffers)
        if name == "file":
            first = self.files.term_base(self.files.start_position)
            index = (self.position - first) // self.files.segment_length
            numbers, which = np.unique(index, return_inverse=True)
            names = [str(self.files.path(first + int(n) * self.files.segment_length)) for n in numbers]
            return pa.array(names, kind).take(pa.array(which))
        if name == "corrupt":
            return pa.array(_INCOMPLETE, kind).take(pa.array(self.arrays["incomplete"]))
        return pa.array(self.arrays["session_id" if name == "frame_session_id" else name], kind)


def arrow_schema(columns: dict[str, str]) -> pa.Schema:
    """The Arrow schema of columns by their type names."""
    import pyarrow as pa

    return pa.schema([(name, getattr(pa, kind)()) for name, kind in columns.items()])
