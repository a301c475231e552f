"""One safe file for a fitted encoding: arrays and JSON in the safetensors format, no code.

docs/file-formats.md tells what is in it. Everything that indexes something else is checked on loading,
so that a damaged or made-up file is refused and never reaches a kernel.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from chromatic._files import replacing
from chromatic.coloring import MOST_COLORS, Coloring
from chromatic.data.hashing import hash_bytes
from chromatic.data.names import Names
from chromatic.data.values import ValueBins
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.fitting import Encoding, SubmodularEncoding
from chromatic.encoding.frequency import FrequencyEncoding
from chromatic.encoding.submodular import Codebook
from chromatic.encoding.target import TargetEncoding
from chromatic.errors import in_file

VERSION = 1
LONGEST_HEADER = 100_000_000  # bytes, as the safetensors format has it
_TYPES = {"U64": "<u8", "I64": "<i8", "F64": "<f8", "U32": "<u4", "I32": "<i4", "U8": "u1"}

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Model:
    """A fitted encoding, and with which parameters it was fitted."""

    encoding: Encoding
    parameters: dict[str, Any] = field(default_factory=dict)
    n_features_in: int | None = None  # the columns of the matrix or table that it was fitted on


def save(model: Model, path: str | os.PathLike[str], *, names: bool = True) -> None:
    """Write a fitted encoding; without `names`, string features are known by their hashes only."""
    encoding = model.encoding
    arrays: Arrays = {}
    facts: dict[str, Any] = {
        "version": VERSION,
        "parameters": model.parameters,
        "n_features_in": model.n_features_in,
    }
    _put_vocabulary(encoding.vocabulary, arrays, facts, names)
    coloring = encoding.coloring
    arrays["colors"] = coloring.colors
    names_in_file = {"strategy": "fit"}  # what the format calls it
    facts["coloring"] = {
        names_in_file.get(name, name): getattr(coloring, name)
        for name in ("n_colors", "strategy", "palette", "seed", "forced", "conflicts", "lower_bound")
    }
    if isinstance(encoding, SubmodularEncoding):
        book = encoding.codebook
        facts["encoding"] = {
            "kind": "submodular",
            "null": encoding.null,
            "prior": book.prior,
            "smoothing": book.smoothing,
            "n_columns": book.n_columns,
        }
        arrays["columns"] = encoding.columns
        for name in ("rates", "bin_starts", "cuts", "null_bins", "null_rates"):
            arrays[name] = getattr(book, name)
        arrays["bin_columns"] = book.columns
    elif isinstance(encoding, TargetEncoding):
        facts["encoding"] = {"kind": "target", "prior": encoding.prior}
        arrays["values"] = encoding.values
    else:
        facts["encoding"] = {"kind": "frequency", "n_kept": encoding.n_kept}
        arrays["codes"] = encoding.codes
    # One entry of metadata: the writer keeps several in no order.
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    facts = json.loads(json.dumps(facts, default=lambda number: number.item()))
    facts["checksum"] = checksum_of(facts, arrays)
    with replacing(path) as file:
        for part in safetensors_of(arrays, {"chromatic": json.dumps(facts, sort_keys=True)}):
            file.write(part)


def safetensors_of(arrays: Arrays, metadata: dict[str, str]) -> Iterator[Any]:
    """A safetensors file, a part at a time: the library's own writer copies all arrays twice first."""
    kinds = {np.dtype(dtype): kind for kind, dtype in _TYPES.items()}
    order = list(kinds)  # as the library has it
    names = sorted(arrays, key=lambda name: (order.index(arrays[name].dtype), name))
    header: dict[str, Any] = {"__metadata__": metadata}
    at = 0
    for name in names:
        array = arrays[name]
        place = [at, at + array.nbytes]
        header[name] = {
            "dtype": kinds[array.dtype],
            "shape": list(array.shape),
            "data_offsets": place,
        }
        at = place[1]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in names:
        yield arrays[name].reshape(-1).view(np.uint8).data


def load(path: str | os.PathLike[str]) -> Model:
    """Read a fitted encoding that `save` wrote."""
    path = os.fspath(path)
    facts, arrays = _read(path)
    version = facts.get("version")
    if isinstance(version, int) and version > VERSION:
        raise in_file(
            path, None, f"is of version {version}; expected {VERSION}: update chromatic to read it"
        )
    if version != VERSION or facts.get("checksum") != checksum_of(facts, arrays):
        raise in_file(
            path, None, "is damaged (its checksum does not agree); expected the file as it was written"
        )
    try:
        vocabulary = _vocabulary(facts, arrays)
        coloring = _coloring(facts, arrays, vocabulary)
        parameters, width = dict(facts["parameters"]), facts["n_features_in"]
        encoding = _encoding(facts, arrays, vocabulary, coloring)
        return Model(encoding, parameters, None if width is None else int(width))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise in_file(path, None, f"is damaged ({error}); expected a whole model file") from error


def checksum_of(facts: dict[str, Any], arrays: Arrays) -> str:
    """A hash of all that a file says: with one bit changed, a file is refused."""
    parts = [json.dumps({**facts, "checksum": None}, sort_keys=True).encode()]
    for name, array in sorted(arrays.items()):
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        parts.append(f"{name} {array.dtype.str} {array.shape} {hash_bytes(content):016x}".encode())
    whole = np.frombuffer(b"\n".join(parts), np.uint8)
    return f"{hash_bytes(whole):016x}"


def _read(path: str) -> tuple[dict[str, Any], Arrays]:
    try:
        with open(path, "rb") as file:
            facts, arrays = _contents(file)
    except FileNotFoundError as error:
        raise in_file(path, None, "no such file; check the path") from error
    except (KeyError, TypeError, ValueError, AttributeError, OSError, RecursionError) as error:
        raise in_file(
            path, None, f"is no model file ({error}); expected one that chromatic wrote"
        ) from error
    if not isinstance(facts, dict):
        raise in_file(path, None, "is no model file; expected one that chromatic wrote")
    return facts, arrays


def _contents(file: IO[bytes]) -> tuple[Any, Arrays]:
    """The metadata and the arrays of a safetensors file, whose arrays follow each other without gaps.

    The library maps files, and one that shrinks while it is mapped ends the process. So this reads, and
    takes memory only for what the file is long enough to hold.
    """
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    _must(8 + length <= size and length <= LONGEST_HEADER, f"its header cannot have {length} bytes")
    header = json.loads(file.read(length), object_pairs_hook=_once)
    facts = json.loads(header.pop("__metadata__", {}).get("chromatic", "null"), object_pairs_hook=_once)
    at, room, arrays = 0, size - 8 - length, {}
    for name, told in sorted(header.items(), key=lambda item: tuple(item[1]["data_offsets"])):
        dtype = np.dtype(_TYPES[told["dtype"]])
        (count,), (begin, end) = told["shape"], told["data_offsets"]
        fits = type(count) is type(begin) is type(end) is int and begin == at and at <= end <= room
        _must(fits and end - begin == count * dtype.itemsize, f"the array {name} is not where it should be")
        arrays[name] = np.fromfile(file, dtype, count)
        _must(len(arrays[name]) == count, "it ends too early")
        at = end
    _must(at == room, "something follows its arrays")
    return facts, arrays


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, in which no key stands twice."""
    found = dict(pairs)
    _must(len(found) == len(pairs), "a key stands twice in its JSON")
    return found


def _put_names(name: str, names: Names, arrays: Arrays) -> None:
    arrays[f"{name}_offsets"], arrays[f"{name}_bytes"] = names.offsets, names.data


def _put_vocabulary(vocabulary: Vocabulary, arrays: Arrays, facts: dict[str, Any], names: bool) -> None:
    arrays["keys"], arrays["counts"] = vocabulary.keys, vocabulary.counts
    arrays["dense_keys"] = vocabulary.dense_keys
    _put_names("dense_names", Names.pack(vocabulary.dense_names), arrays)
    _put_names("field_names", Names.pack(vocabulary.field_names), arrays)
    if names and vocabulary.names is not None:
        _put_names("names", vocabulary.names, arrays)
    if vocabulary.fields is not None:
        arrays["fields"] = vocabulary.fields
    if vocabulary.bins is not None:
        bins = vocabulary.bins
        arrays["value_hashes"], arrays["value_starts"] = bins.hashes, bins.starts
        arrays["value_edges"] = bins.edges
        _put_names("value_names", bins.names, arrays)
    facts["vocabulary"] = {
        "integers": vocabulary.integers,
        "n_rows": vocabulary.n_rows,
        "dropped_features": vocabulary.dropped_features,
    }


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)


def _take(
    arrays: Arrays, name: str, dtype: type[np.generic], length: int | None = None
) -> npt.NDArray[Any]:
    array = arrays[name]
    _must(array.dtype == dtype and array.ndim == 1, f"{name} is not an array of {dtype.__name__}")
    _must(length is None or len(array) == length, f"{name} has {len(array)} elements, not {length}")
    return array


def _starts(arrays: Arrays, name: str, length: int, total: int) -> npt.NDArray[np.int64]:
    """Ascending positions from 0 to the total."""
    starts = _take(arrays, name, np.int64, length)
    good = len(starts) > 0 and starts[0] == 0 and starts[-1] == total and bool((np.diff(starts) >= 0).all())
    _must(good, f"{name} does not divide {total} elements")
    return starts


def _names(arrays: Arrays, name: str, length: int | None = None) -> Names:
    data = _take(arrays, f"{name}_bytes", np.uint8)
    expected = len(arrays[f"{name}_offsets"]) if length is None else length + 1
    return Names(_starts(arrays, f"{name}_offsets", expected, len(data)), data)


def _within(array: npt.NDArray[Any], low: int, high: int, name: str) -> None:
    _must(
        len(array) == 0 or (int(array.min()) >= low and int(array.max()) < high), f"{name} is out of bounds"
    )


def _finite(array: npt.ArrayLike, name: str) -> None:
    _must(bool(np.isfinite(array).all()), f"{name} has what is no finite number")


def _vocabulary(facts: dict[str, Any], arrays: Arrays) -> Vocabulary:
    told = facts["vocabulary"]
    integers = bool(told["integers"])
    kind = np.uint32 if integers else np.uint64
    keys = _take(arrays, "keys", kind)
    dense_keys = _take(arrays, "dense_keys", kind)
    _must(len(np.unique(np.concatenate((keys, dense_keys)))) == len(keys) + len(dense_keys), "keys repeat")
    dense_names = tuple(_names(arrays, "dense_names").tolist())
    _must(len(dense_names) >= len(dense_keys), "dense features have no names")
    field_names = tuple(_names(arrays, "field_names").tolist())
    fields = _take(arrays, "fields", np.int32, len(keys)) if "fields" in arrays else None
    if fields is not None:
        _within(fields, -1, len(field_names), "fields")
    counts, n_rows = _take(arrays, "counts", np.int64, len(keys)), int(told["n_rows"])
    _within(counts, 0, n_rows + 1, "counts")
    return Vocabulary(
        integers=integers,
        keys=keys,
        counts=counts,
        names=_names(arrays, "names", len(keys)) if "names_offsets" in arrays else None,
        dense_keys=dense_keys,
        dense_names=dense_names,
        n_rows=n_rows,
        dropped_features=int(told["dropped_features"]),
        fields=fields,
        field_names=field_names,
        bins=_value_bins(arrays) if "value_hashes" in arrays else None,
    )


def _value_bins(arrays: Arrays) -> ValueBins:
    hashes = _take(arrays, "value_hashes", np.uint64)
    edges = _take(arrays, "value_edges", np.float64)
    starts = _starts(arrays, "value_starts", len(hashes) + 1, len(edges))
    _must(bool((np.diff(starts) > 0).all()), "value_starts leave a feature without bins")
    _must(len(np.unique(hashes)) == len(hashes), "value_hashes repeat")
    _finite(edges, "value_edges")
    return ValueBins(hashes, starts, edges, _names(arrays, "value_names", len(edges)))


def _coloring(facts: dict[str, Any], arrays: Arrays, vocabulary: Vocabulary) -> Coloring:
    told = facts["coloring"]
    colors = _take(arrays, "colors", np.int32, len(vocabulary))
    n_colors = int(told["n_colors"])
    _must(0 <= n_colors <= 2 * MOST_COLORS, f"there cannot be {n_colors} colors")
    _within(colors, 0, n_colors, "colors")
    return Coloring(
        colors=colors,
        n_colors=n_colors,
        strategy=str(told["fit"]),
        palette=None if told["palette"] is None else int(told["palette"]),
        seed=int(told["seed"]),
        forced=int(told["forced"]),
        conflicts=int(told["conflicts"]),
        lower_bound=int(told["lower_bound"]),
        vocabulary=vocabulary.fingerprint,
        forbidden=np.zeros(len(colors), np.int32),
    )


def _encoding(
    facts: dict[str, Any], arrays: Arrays, vocabulary: Vocabulary, coloring: Coloring
) -> Encoding:
    told = facts["encoding"]
    n_features = len(vocabulary)
    if told["kind"] == "target":
        values = _take(arrays, "values", np.float64, n_features)
        _finite(values, "values")
        _finite(told["prior"], "the prior")
        return TargetEncoding(vocabulary, coloring, values, float(told["prior"]))
    if told["kind"] == "frequency":
        codes, n_kept = _take(arrays, "codes", np.int32, n_features), int(told["n_kept"])
        _must(0 <= n_kept <= n_features, "n_kept is out of bounds")
        _within(codes, 0, n_kept + 1, "codes")
        return FrequencyEncoding(vocabulary, coloring, codes, n_kept)
    _must(told["kind"] == "submodular", f"an encoding of the kind {told['kind']!r} is unknown")
    _must(told["null"] in ("drop", "emit"), f"null is {told['null']!r}")
    book = _codebook(told, arrays, n_features, coloring.n_colors)
    columns = _take(arrays, "columns", np.int32, n_features)
    _within(columns, -1 if told["null"] == "drop" else 0, book.n_columns, "columns")
    made = np.flatnonzero(book.columns >= 0)
    color_of_bin = np.repeat(np.arange(coloring.n_colors), np.diff(book.bin_starts))
    color_of = np.append(color_of_bin[made[np.argsort(book.columns[made])]], -1)  # the last is no column's
    own = (columns < 0) | (color_of[columns] == coloring.colors)
    _must(bool(own.all()), "columns are of other colors than their features")
    return SubmodularEncoding(vocabulary, coloring, book, columns, str(told["null"]))


def _codebook(told: dict[str, Any], arrays: Arrays, n_features: int, n_colors: int) -> Codebook:
    cuts = _take(arrays, "cuts", np.float64)
    starts = _starts(arrays, "bin_starts", n_colors + 1, len(cuts))
    _must(bool((np.diff(starts) > 0).all()), "bin_starts leave a color without bins")
    is_last = np.zeros(len(cuts), np.bool_)
    is_last[starts[1:] - 1] = True
    ascend = np.append(cuts[:-1] <= cuts[1:], True)[: len(cuts)]
    _must(bool((is_last | (ascend & np.isfinite(cuts))).all()), "cuts do not ascend")
    columns, n_columns = _take(arrays, "bin_columns", np.int32, len(cuts)), int(told["n_columns"])
    made = np.sort(columns[columns >= 0])
    _must(
        len(made) == n_columns and np.array_equal(made, np.arange(n_columns)), "bin_columns skip or repeat"
    )
    _within(columns, -1, n_columns, "bin_columns")
    color_of_bin = np.repeat(np.arange(n_colors), np.diff(starts))
    left_out = np.bincount(color_of_bin[columns < 0], minlength=n_colors)
    expected = 1 if told["null"] == "drop" else 0
    _must(bool((left_out == expected).all()), "bin_columns leave out other bins than one a color")
    null_bins = _take(arrays, "null_bins", np.int64, n_colors)
    own = (starts[:-1] <= null_bins) & (null_bins < starts[1:])
    _must(bool(own.all()), "null_bins are of other colors")
    rates = _take(arrays, "rates", np.float64, n_features)
    null_rates = _take(arrays, "null_rates", np.float64, n_colors)
    shares = np.concatenate((rates, null_rates))
    _must(bool(((shares >= 0) & (shares < 1 + 1e-9)).all()), "rates are not between 0 and 1")
    _finite([told["prior"], told["smoothing"]], "the prior or the smoothing")
    return Codebook(
        prior=float(told["prior"]),
        smoothing=float(told["smoothing"]),
        rates=rates,
        bin_starts=starts,
        cuts=cuts,
        columns=columns,
        null_bins=null_bins,
        null_rates=null_rates,
        n_columns=n_columns,
    )
