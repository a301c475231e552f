"""Write the weighted co-occurrence graph to a file."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import IO, Any

import numpy as np

from chromatic._files import check_target, replacing
from chromatic.data.rows import Rows
from chromatic.data.stored import StoredRows
from chromatic.data.transpose import Transposed
from chromatic.data.vocabulary import Vocabulary
from chromatic.errors import InputError
from chromatic.graph.stream import edges_of
from chromatic.graph.walk import Edges

Path = str | os.PathLike[str]
HEAD = ("feature", "other", "rows")


def check_export(path: Path) -> None:
    """Refuse a file that the graph cannot be written to."""
    if _suffix(path) not in _WRITERS:
        raise InputError(
            f"{os.fspath(path)}: a graph is not written to such a file; expected a name that ends in "
            f"{', '.join(_WRITERS)}"
        )
    check_target(os.fspath(path))


def export(
    rows: Rows | StoredRows,
    path: Path,
    k: int = 1,
    *,
    vocabulary: Vocabulary,
    transposed: Transposed | None = None,
    threads: int = 1,
) -> int:
    """Write the pairs of features that k rows or more have, with their counts; return how many there are.

    `.csv` and `.parquet` are lists of edges: the names of two features, the more frequent one first, and
    the number of rows with both. `.npz` is a symmetric matrix for `scipy.sparse.load_npz`, by the codes of
    the features.
    """
    check_export(path)
    n_edges = 0

    def counted() -> Iterable[Edges]:
        nonlocal n_edges
        for block in edges_of(rows, k, transposed=transposed, threads=threads):
            n_edges += len(block[0])
            yield block

    with replacing(path) as file:
        _WRITERS[_suffix(path)](file, counted(), vocabulary)
    return n_edges


def _suffix(path: Path) -> str:
    return PurePath(path).suffix


def _write_csv(file: IO[bytes], blocks: Iterable[Edges], vocabulary: Vocabulary) -> None:
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(HEAD)
    for block in blocks:
        lines.writerows(zip(*_named(block, vocabulary), strict=True))
    text.detach()


def _write_parquet(file: IO[bytes], blocks: Iterable[Edges], vocabulary: Vocabulary) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(list(zip(HEAD, (pa.string(), pa.string(), pa.uint32()), strict=True)))
    with pq.ParquetWriter(file, schema) as writer:
        for block in blocks:
            writer.write_table(pa.table(list(_named(block, vocabulary)), schema=schema))


def _write_npz(file: IO[bytes], blocks: Iterable[Edges], vocabulary: Vocabulary) -> None:
    from scipy.sparse import csr_array, save_npz

    nothing = np.zeros(0, np.uint32), np.zeros(0, np.uint32), np.zeros(0, np.uint32)
    later, earlier, counts = map(np.concatenate, zip(nothing, *blocks, strict=True))
    ends = np.concatenate((later, earlier)), np.concatenate((earlier, later))
    weights = np.concatenate((counts, counts)).astype(np.int64)
    save_npz(file, csr_array((weights, ends), shape=(len(vocabulary), len(vocabulary))))


def _named(block: Edges, vocabulary: Vocabulary) -> tuple[list[str], list[str], list[int]]:
    later, earlier, counts = (array.tolist() for array in block)
    name = {code: vocabulary.text(code) for code in {*later, *earlier}}
    return [name[code] for code in earlier], [name[code] for code in later], counts


_WRITERS: dict[str, Callable[[IO[bytes], Iterable[Edges], Any], None]] = {
    ".csv": _write_csv,
    ".parquet": _write_parquet,
    ".npz": _write_npz,
}
