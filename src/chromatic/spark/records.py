"""A model as a record for each feature, so that rows can be joined with it where no worker can hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from chromatic.coloring import Coloring, represent
from chromatic.coloring.coloring import coloring_of
from chromatic.coloring.request import BALANCED
from chromatic.data.rows import Rows
from chromatic.encoding.encoded import Encoded, Tables
from chromatic.encoding.layout import Layout
from chromatic.encoding.protocol import Encoding

Records = npt.NDArray[np.void]


@dataclass(frozen=True)
class Shape:
    """What a worker must know to make columns of records; it does not grow with features."""

    layout: Layout
    levels: bool  # whether columns hold levels
    n_kept: int  # features that play a part
    kind: np.dtype[Any]  # of a record
    n_columns: tuple[int, ...]  # of each class, or of the one table: features whose column depends on folds
    n_weights: tuple[int, ...]  # and features with weights

    def encode(
        self,
        lists: tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], Records],
        dense: npt.NDArray[np.float64],
        fold: npt.NDArray[np.int32] | None,
    ) -> Encoded:
        """Return the columns of rows, given as CSR of codes with a record beside each code.

        The codes are numbered anew, in their order, so that tables are as short as the rows need.
        """
        indptr, codes, records = lists
        kept = codes < self.n_kept
        indptr = np.concatenate(([0], np.cumsum(kept)))[indptr]
        some, first, number = np.unique(codes[kept], return_index=True, return_inverse=True)
        records = records[kept][first]
        colors = np.ascontiguousarray(records["color"])
        rows = Rows(
            indptr=indptr,
            codes=number.astype(np.uint32),
            labels=None,
            dense=dense,
            n_features=len(some),
            vocabulary=0,
        )
        if not self.layout.sums:
            rows, _ = represent(rows, _coloring(colors, self.layout.n_colors))
        return self.layout.encode(rows, colors, self._tables(some, records), fold)

    def _tables(self, codes: npt.NDArray[np.uint32], records: Records) -> Tables:
        """Return the tables of some features."""
        tables = []
        for part, n_columns in enumerate(self.n_columns):
            given = {
                name: records[f"{name}{part}"]
                for name in ("columns", "values", "weights")
                if f"{name}{part}" in (self.kind.names or ())
            }
            given = {name: np.ascontiguousarray(one) for name, one in given.items()}
            split, weighed = np.searchsorted(codes, (n_columns, self.n_weights[part]))
            weights = given.get("weights")
            tables.append(
                Tables(
                    given["columns"][:split],
                    given.get("values"),
                    given["columns"][split:, 0].copy(),
                    None if weights is None else weights[:weighed],
                )
            )
        return tables[0] if not self.layout.parts else Tables(*tables[0][:2], of_classes=tuple(tables))


def records_of(encoding: Encoding, tables: Tables | None) -> tuple[Shape, Records]:
    """Return the shape of an encoding and the record of each feature, by other tables where given."""
    if tables is None:
        tables = encoding.with_weights(encoding.tables)
    parts, n = tables.of_classes or (tables,), len(encoding.vocabulary)
    columns: dict[str, npt.NDArray[Any]] = {"color": encoding.coloring.colors}
    for part, one in enumerate(parts):
        alone = one.arrays[1]
        folds = one.columns.shape[1]
        columns[f"columns{part}"] = np.concatenate((one.columns, np.repeat(alone[:, None], folds, 1)))
        if one.values is not None:
            columns[f"values{part}"] = one.values
        if one.weights is not None:
            short = np.zeros((n - len(one.weights), one.weights.shape[1]), one.weights.dtype)
            columns[f"weights{part}"] = np.concatenate((one.weights, short))
    kind = np.dtype([(name, array.dtype, array.shape[1:]) for name, array in columns.items()])
    records = np.empty(n, kind)
    for name in columns:
        records[name] = columns[name]
    shape = Shape(
        layout=encoding.layout,
        levels=encoding.gives_levels,
        n_kept=encoding.n_kept,
        kind=kind,
        n_columns=tuple(len(one.columns) for one in parts),
        n_weights=tuple(0 if one.weights is None else len(one.weights) for one in parts),
    )
    return shape, records


def to_arrow(records: Records) -> pa.Array:
    """Return records as a column of bytes."""
    width = records.dtype.itemsize
    data, offsets = pa.py_buffer(records.tobytes()), np.arange(len(records) + 1, dtype=np.int64) * width
    return pa.Array.from_buffers(pa.large_binary(), len(records), [None, pa.py_buffer(offsets), data])


def of_arrow(column: pa.Array, kind: np.dtype[Any]) -> Records:
    """Return a column of bytes as records."""
    _, offsets, data = column.buffers()
    width = np.int64 if pa.types.is_large_binary(column.type) else np.int32
    first = np.frombuffer(offsets, width)[column.offset] if len(column) else 0
    if data is None or not len(column):
        return np.empty(0, kind)
    return np.frombuffer(data, np.uint8, len(column) * kind.itemsize, first).view(kind)


def _coloring(colors: npt.NDArray[np.int32], n_colors: int) -> Coloring:
    return coloring_of(BALANCED, colors, n_colors, lower_bound=0, vocabulary=0)
