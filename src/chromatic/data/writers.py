"""Batches out: svmlight, Vowpal Wabbit text, Parquet, npz."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from chromatic._files import replacing
from chromatic._numba import inlined, kernel, load64, store64
from chromatic._threads import ordered_map
from chromatic.data.batch import Batch, Tokens, have_labels
from chromatic.data.names import Names, integers_of_spans
from chromatic.data.source import COMPRESSED, SUFFIXES
from chromatic.errors import InputError

WRITE_FORMATS = ("svmlight", "vw", "parquet", "npz")
TEXT = ("svmlight", "vw")
WEIGHTED = ("vw", "parquet")  # formats that have a place for weights of rows
ROWS_PER_GROUP = 1 << 16
WORD = 8  # bytes that are copied at once


def write(
    batches: list[Batch], path: str | os.PathLike[str], format: str | None = None, threads: int = 1
) -> None:
    """Write batches to a file, in a format that its suffix tells if none is named.

    Integer features are written in ascending order, others as they came.

    >>> import tempfile
    >>> from chromatic.data import Reader
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Reader().batches([[7, 3], [3]]), f"{folder}/out.svm")
    ...     print(open(f"{folder}/out.svm").read(), end="")
    0 3:1 7:1
    0 3:1
    """
    format = format_to_write(os.fspath(path), format)
    have_labels(batches)
    if format not in WEIGHTED:
        batches = [replace(batch, weights=None) for batch in batches]
    if any(batch.has_names for batch in batches):
        batches = [batch.with_names() for batch in batches]
    if format != "parquet":
        batches = [_fold_numeric(batch) for batch in batches]
    batches = [_ascending(batch) for batch in batches]
    if format in TEXT:
        write_text(batches, path, format, threads)
        return
    with replacing(path) as file:
        if format == "parquet":
            _write_parquet(file, batches)
        else:
            from chromatic.data.npz import write_npz

            write_npz(file, batches)


def write_text(
    batches: Iterable[Batch], path: str | os.PathLike[str], format: str, threads: int = 1
) -> None:
    """Write batches without numeric columns as text, in the order of their features, as they come."""
    write_lines(ordered_map(lambda batch: lines_of(batch, format), batches, threads), path)


def write_lines(texts: Iterable[npt.NDArray[np.uint8]], path: str | os.PathLike[str]) -> None:
    """Write lines that `lines_of` has made, as they come."""
    with replacing(path) as file:
        for text in texts:
            file.write(text.data)


def check_weights(format: str) -> None:
    """Refuse a format that has no place for weights of rows."""
    if format not in WEIGHTED:
        raise InputError(f"{format} has no weights of rows; expected {' or '.join(WEIGHTED)} (--to)")


def format_to_write(path: str, format: str | None = None) -> str:
    """The format of a file that is to be written: as named, or by its suffix."""
    stem, suffix = os.path.splitext(path)
    compressed = suffix in COMPRESSED
    if compressed:
        suffix = os.path.splitext(stem)[1]
    format = format or SUFFIXES.get(suffix.lower())
    if format is not None and format not in WRITE_FORMATS:
        raise InputError(f"cannot write {format!r}; expected one of {', '.join(WRITE_FORMATS)}")
    if compressed and format in ("npz", "parquet"):
        raise InputError(
            f"{path}: {format} is compressed within; expected a name without {path[len(stem) :]}"
        )
    if format is None:
        known = ", ".join(suffix for suffix, format in SUFFIXES.items() if format in WRITE_FORMATS)
        raise InputError(
            f"cannot tell the format to write from the name {path!r}; expected one of {known}, or name "
            "the format (--to)"
        )
    return format


def _fold_numeric(batch: Batch) -> Batch:
    """Text has no columns: a numeric column becomes a feature with values, where it is not 0."""
    numeric = batch.numeric
    if numeric is None:
        return batch
    names = Names.pack(batch.numeric_names)
    integers, valid = integers_of_spans(names.data, names.offsets[:-1], names.offsets[1:])
    if batch.tokens is None and valid.all():
        tokens, ids = None, integers
    else:
        batch = batch.with_names()
        assert batch.tokens is not None and batch.tokens.names is not None
        hashes = names.hashes()
        if np.isin(hashes, batch.tokens.hashes).any():
            raise InputError("a numeric column and a feature have one name, or one hash; rename the column")
        ids = np.arange(len(names), dtype=np.uint32) + np.uint32(len(batch.tokens.hashes))
        tokens = Tokens(
            np.concatenate((batch.tokens.hashes, hashes)),
            Names.concatenate([batch.tokens.names, names]),
        )
    rows, columns = np.nonzero(numeric)
    all_rows = np.concatenate((rows, np.repeat(np.arange(batch.n_rows), np.diff(batch.indptr))))
    order = np.argsort(all_rows, kind="stable")
    indptr = np.concatenate(([0], np.cumsum(np.bincount(all_rows, minlength=batch.n_rows))))
    values = np.concatenate((numeric[rows, columns], batch.all_values()))[order]
    folded = batch.with_features(indptr, np.concatenate((ids[columns], batch.ids))[order], tokens, values)
    return replace(folded, numeric=None, numeric_names=())


def _ascending(batch: Batch) -> Batch:
    """Integer features in ascending order within each row."""
    if batch.tokens is not None:
        return batch
    ascend = np.diff(batch.ids.astype(np.int64), prepend=-1) > 0
    ascend[batch.indptr[:-1][np.diff(batch.indptr) > 0]] = True  # whatever ends the row before
    if ascend.all():
        return batch
    rows = np.repeat(np.arange(batch.n_rows), np.diff(batch.indptr))
    order = np.lexsort((batch.ids, rows))
    return batch.with_features(batch.indptr, batch.ids[order], None, batch.all_values()[order])


def lines_of(batch: Batch, format: str) -> npt.NDArray[np.uint8]:
    """Return a batch without numeric columns as lines of svmlight or Vowpal Wabbit text."""
    vw = format == "vw"
    names = None if batch.tokens is None else batch.tokens.names
    if names is not None:
        _check_names(names, vw)
    elif batch.tokens is None and int(batch.ids.max(initial=0)) < 1 << 16:
        names = Names.of_integers(np.arange(int(batch.ids.max(initial=0)) + 1))
    else:
        batch = batch.with_tokens()
        assert batch.tokens is not None and batch.tokens.integers is not None
        names = Names.of_integers(batch.tokens.integers)
    heads = _framed(names, b" ", b"" if vw else b":1")
    values = Names.of_numbers(batch.values)
    label_texts, label_of = _label_texts(batch, vw)
    lengths, of_labels = np.diff(heads.offsets), np.diff(label_texts.offsets)
    longest = int(lengths.max(initial=0))
    of_heads = longest * len(batch.ids) if longest <= WORD else int(lengths[batch.ids].sum())
    room = of_heads + len(values.data) + len(batch.values) + int(of_labels[label_of].sum())
    out = np.empty(room + 3 * batch.n_rows + WORD, np.uint8)
    size = _write_rows(
        (batch.indptr, batch.ids),
        _with_slack(heads),
        (batch.value_at, _with_slack(values)),
        (label_of, _with_slack(label_texts)),
        out,
        vw=vw,
    )
    return out[:size]


def _framed(names: Names, before: bytes, after: bytes) -> Names:
    """Return texts with others before and after each."""
    lengths = np.diff(names.offsets)
    offsets = np.concatenate(([0], np.cumsum(lengths + len(before) + len(after))))
    data = np.empty(offsets[-1], np.uint8)
    shift = offsets[:-1] + len(before) - names.offsets[:-1]
    data[np.arange(len(names.data)) + np.repeat(shift, lengths)] = names.data
    for i, byte in enumerate(before):
        data[offsets[:-1] + i] = byte
    for i, byte in enumerate(after):
        data[offsets[1:] - len(after) + i] = byte
    return Names(offsets, data)


def _with_slack(names: Names) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Return texts as kernels take them that copy whole words."""
    return names.offsets, np.concatenate((names.data, np.zeros(WORD, np.uint8)))


def _label_texts(batch: Batch, vw: bool) -> tuple[Names, npt.NDArray[np.int64]]:
    """The distinct texts before features, labels and in Vowpal Wabbit text weights, and each row's."""
    labels, label_of = _distinct(_labels(batch, vw))
    texts = Names.of_numbers(labels) if not np.isnan(labels).any() else Names.pack([b""])
    if batch.weights is None:
        return texts, label_of
    if batch.labels is None:
        raise InputError("rows without labels have no weights in Vowpal Wabbit text; expected parquet")
    weights, weight_of = np.unique(batch.weights, return_inverse=True)
    pairs, pair_of = np.unique(label_of * len(weights) + weight_of, return_inverse=True)
    words = texts.tolist(), Names.of_numbers(weights).tolist()
    both = [b" ".join((words[0][pair // len(weights)], words[1][pair % len(weights)])) for pair in pairs]
    return Names.pack(both), pair_of


def _distinct(labels: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return distinct labels, among them all that rows have, and the place of each row's; -0 is 0."""
    with np.errstate(invalid="ignore"):  # what is no byte is not equal to it
        bytes_ = labels.astype(np.int8)
    if np.array_equal(bytes_, labels):  # classes need not be sorted
        return np.arange(-128.0, 128.0), bytes_.astype(np.int64) + 128
    return np.unique(labels, return_inverse=True)


def _labels(batch: Batch, vw: bool) -> npt.NDArray[np.float64]:
    """svmlight needs a label: 0 where there is none, as LIBSVM has it; Vowpal Wabbit does not."""
    if batch.labels is not None:
        return batch.labels
    return np.full(batch.n_rows, np.nan if vw else 0.0)


def _check_names(names: Names, vw: bool) -> None:
    """Refuse names that would not be read back as they are."""
    reserved = names.data <= 32
    if vw:
        reserved |= (names.data == ord("|")) | (names.data == ord(":"))
    bad = np.diff(names.offsets) == 0
    bad[np.searchsorted(names.offsets, np.flatnonzero(reserved), side="right") - 1] = True
    if not vw:
        padded = np.concatenate((names.data, np.zeros(4, np.uint8)))
        head = padded[names.offsets[:-1, None] + np.arange(4)]
        head[:, 3][np.diff(names.offsets) == 3] = ord(":")  # as the value will follow
        bad |= head[:, 0] == ord("#")
        bad |= (head == np.frombuffer(b"qid:", np.uint8)).all(axis=1)
    if bad.any():
        name = names[int(np.flatnonzero(bad)[0])].decode("utf-8", "replace")
        where = "Vowpal Wabbit text" if vw else "svmlight text"
        raise InputError(
            f"the feature {name!r} would not be read back from {where} as it is; write Parquet or npz"
        )


def _write_parquet(file: IO[bytes], batches: list[Batch]) -> None:
    import pyarrow.parquet as pq

    with_values = any(len(batch.value_at) for batch in batches)
    as_text = all(_is_text(batch.tokens.names) for batch in batches if batch.tokens and batch.tokens.names)
    writer = None
    for table in _row_groups(_table(batch, with_values, as_text) for batch in batches):
        writer = writer or pq.ParquetWriter(file, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _is_text(names: Names) -> bool:
    import pyarrow as pa

    try:
        names.to_arrow().cast(pa.large_string())
    except pa.ArrowInvalid:  # not UTF-8
        return False
    return True


def _row_groups(tables: Iterable[Any]) -> Iterator[Any]:
    """Tables of ROWS_PER_GROUP rows, however many the given ones have: the file is the same."""
    import pyarrow as pa

    rest = None
    for table in tables:
        rest = table if rest is None else pa.concat_tables([rest, table])
        while rest.num_rows >= ROWS_PER_GROUP:
            yield rest.slice(0, ROWS_PER_GROUP).combine_chunks()
            rest = rest.slice(ROWS_PER_GROUP)
    if rest is not None and rest.num_rows:
        yield rest.combine_chunks()


def _table(batch: Batch, with_values: bool, as_text: bool) -> Any:
    """The columns `label`, `weight`, `features` (a list, or a map to values), and the numeric ones."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    if batch.labels is not None:
        columns["label"] = pa.array(batch.labels)
    if batch.weights is not None:
        columns["weight"] = pa.array(batch.weights)
    features: Any = pa.array(batch.ids)
    if batch.tokens is not None:
        assert batch.tokens.names is not None
        names = batch.tokens.names.to_arrow()
        features = names.take(features).cast(pa.string() if as_text else pa.binary())
    offsets = pa.array(batch.indptr.astype(np.int32))
    if with_values:
        values = pa.array(batch.all_values())
        columns["features"] = pa.MapArray.from_arrays(offsets, features, values)
    else:
        columns["features"] = pa.ListArray.from_arrays(offsets, features)
    for i, name in enumerate(batch.numeric_names):
        assert batch.numeric is not None
        if name in (b"label", b"features") or (name == b"weight" and batch.weights is not None):
            raise InputError(f"the numeric column {name.decode()!r} has a name of our own; rename it")
        columns[name.decode()] = pa.array(np.ascontiguousarray(batch.numeric[:, i]))
    return pa.table(columns)


@inlined
def _copy(texts, i, out, at):  # type: ignore[no-untyped-def]
    """Copy a text by whole words, whose last may be too long; return where the text ends."""
    offsets, data = texts
    start, length = offsets[i], offsets[i + 1] - offsets[i]
    for j in range(0, length, WORD):
        store64(out, at + j, load64(data, start + j))
    return at + length


@kernel
def _write_rows(csr, heads, valued, labelled, out, vw):  # type: ignore[no-untyped-def]
    """Write lines `label name:value ...` or `label | name[:value] ...`; return the bytes written.

    Heads are ` name:1`, whose 1 another value takes the place of, or ` name`.
    """
    (indptr, ids), (value_at, values), (label_of, labels) = csr, valued, labelled
    at = v = np.int64(0)
    for row in range(len(indptr) - 1):
        at = _copy(labels, label_of[row], out, at)
        if vw:
            out[at] = 32
            out[at + 1] = 124
            at += 2
        for i in range(indptr[row], indptr[row + 1]):
            at = _copy(heads, ids[i], out, at)
            if v < len(value_at) and value_at[v] == i:
                if vw:
                    out[at] = 58
                    at += 1
                else:
                    at -= 1
                at = _copy(values, v, out, at)
                v += 1
        out[at] = 10
        at += 1
    return at
