"""One safe file for a model: arrays and JSON in the safetensors format, no code.

docs/file-formats.md tells what is in it. Everything that indexes something else is checked on loading,
so that a damaged or made-up file is refused and never reaches a kernel.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._files import is_stream, replacing
from chromatic._safetensors import contents_of, safetensors_of
from chromatic.coloring import MOST_COLORS, STRATEGIES, Coloring
from chromatic.data.checked import Arrays, CheckedArrays, must, whole, within
from chromatic.data.hashing import hash_bytes
from chromatic.data.names import Names
from chromatic.data.objects import MOST_COLUMNS as MOST_INPUT_COLUMNS
from chromatic.data.schema import Schema
from chromatic.data.values import ValueBins
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.linear import Linear
from chromatic.encoding.protocol import Encoding
from chromatic.errors import in_file
from chromatic.fitting.kept import Kept
from chromatic.model import INPUTS, Input, Model
from chromatic.parameters import kept_in_files
from chromatic.registry import ENCODINGS, OF_OTHER_LABELS, encoding_class

VERSION = 3
COLORING_FACTS = ("n_colors", "strategy", "palette", "seed", "forced", "conflicts", "lower_bound")


def save(model: Model, path: str | os.PathLike[str], *, names: bool = True) -> None:
    """Write a model; without `names`, string features are known by their hashes only."""
    encoding, coloring = model.encoding, model.encoding.coloring
    arrays: Arrays = {"colors": coloring.colors, **encoding.arrays()}
    facts: dict[str, Any] = {
        "version": VERSION,
        "parameters": model.parameters,
        "input": {name: value for name, value in asdict(model.input).items() if name != "columns"},
        "coloring": {name: getattr(coloring, name) for name in COLORING_FACTS},
        "classes": None if model.classes is None else list(model.classes),
        "encoding": {"kind": encoding.name, "sums": encoding.sums, "linear": None, **encoding.facts()},
    }
    if coloring.sampled_rows is not None:
        facts["coloring"]["sampled_rows"] = coloring.sampled_rows
    if encoding.linear is not None:
        facts["encoding"]["linear"] = encoding.linear.facts()
        arrays |= encoding.linear.arrays()
    _put_vocabulary(encoding.vocabulary, arrays, facts, names)
    if model.kept is not None and model.parameters.get("keep") is not None:
        facts["kept"] = model.kept.facts()
        arrays |= model.kept.arrays()
    if names and model.names is not None:
        _put_names("column_names", Names.pack([name.encode() for name in model.names]), arrays)
    if model.input.columns is not None:
        _put_names("input_names", Names.pack([name.encode() for name in model.input.columns]), arrays)
    if model.trains is not None:
        arrays["trains"] = np.packbits(model.trains)
    # One entry of metadata: the library's writer keeps several in no order.
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    facts = json.loads(json.dumps(facts, default=lambda number: number.item()))
    facts["checksum"] = checksum_of(facts, arrays)
    with replacing(path) as file:
        for part in safetensors_of(arrays, {"chromatic": json.dumps(facts, sort_keys=True)}):
            file.write(part)


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model that `save` wrote, of this version or an earlier one."""
    path = os.fspath(path)
    facts, arrays = _read(path)
    version = facts.get("version")
    if isinstance(version, int) and version > VERSION:
        raise in_file(
            path, None, f"is of version {version}; expected {VERSION} at most: update chromatic to read it"
        )
    if version not in (1, 2, VERSION) or facts.get("checksum") != checksum_of(facts, arrays):
        raise in_file(
            path, None, "is damaged (its checksum does not agree); expected the file as it was written"
        )
    try:
        for earlier, brought_up in ((1, _of_version_1), (2, _of_version_2)):
            facts = brought_up(facts) if version <= earlier else facts
        return _model(facts, CheckedArrays(arrays))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise in_file(path, None, f"is damaged ({error}); expected a whole model file") from error


def _of_version_1(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a file of version 1 as version 2 wrote them."""
    width, coloring = facts["n_features_in"], dict(facts["coloring"])
    coloring["strategy"] = coloring.pop("fit")
    given = {"kind": "rows" if width is None else "matrix", "n_columns": width, "label": None}
    encoding = {"smoothing": None, **facts["encoding"]}
    return {**facts, "input": given, "coloring": coloring, "encoding": encoding}


def _of_version_2(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a file of version 2, which knew no sums, as this version writes them."""
    return {
        **facts,
        "parameters": {**facts["parameters"], "collisions": "drop", "linear": 0},
        "encoding": {**facts["encoding"], "sums": False, "linear": None},
    }


def _model(facts: dict[str, Any], arrays: CheckedArrays) -> Model:
    vocabulary = _vocabulary(facts["vocabulary"], arrays)
    coloring = _coloring(facts["coloring"], arrays, vocabulary)
    told = facts["encoding"]
    must(
        told["kind"] in ENCODINGS | OF_OTHER_LABELS, f"an encoding of the kind {told['kind']!r} is unknown"
    )
    encoding = _with_sums(
        encoding_class(told["kind"]).of_file(vocabulary, coloring, told, arrays), told, arrays
    )
    trains = None
    if "trains" in arrays:
        bits = arrays.take("trains", np.uint8, (vocabulary.n_rows + 7) // 8)
        trains = np.unpackbits(bits, count=vocabulary.n_rows).astype(np.bool_)
    input = _input(facts["input"], arrays)
    if input.kind == "matrix":
        _check_columns_of_matrix(vocabulary, input.n_columns or 0)
    parameters, classes, kept = kept_in_files(facts["parameters"]), _classes(facts, encoding), None
    if facts.get("kept") is not None:
        must(parameters.get("keep") is not None, "nothing was to be kept")
        kept = Kept.of_file(facts["kept"], arrays, encoding, binary=classes is not None)
    model = Model(encoding, parameters, input, trains, classes, kept=kept)
    if "column_names_offsets" not in arrays:
        return model
    names = arrays.names("column_names", model.n_columns).tolist()
    return replace(model, names=tuple(name.decode() for name in names))


def _classes(facts: dict[str, Any], encoding: Encoding) -> tuple[Any, ...] | None:
    """Return the classes that labels stand for, which files did not always tell."""
    told, n_parts = facts.get("classes"), len(encoding.of_classes())
    if told is None:
        must(n_parts == 0, "the classes are not told")
        return None
    plain = isinstance(told, list) and all(isinstance(one, (str, int, float)) for one in told)
    must(plain and len(told) == (n_parts or 2), "the classes are not one for each kind of label")
    return tuple(told)


def _with_sums(encoding: Encoding, told: dict[str, Any], arrays: CheckedArrays) -> Encoding:
    """Return an encoding with what a file says of sums and of linear columns."""
    sums, linear = told["sums"], told["linear"]
    must(isinstance(sums, bool) and not (sums and encoding.gives_levels), "levels cannot be summed")
    if linear is None:
        return replace(encoding, sums=sums)
    must(sums, "linear columns are without sums")
    vocabulary = encoding.vocabulary
    n_features, n_dense = len(vocabulary), len(vocabulary.dense_names)
    return replace(encoding, sums=sums, linear=Linear.of_file(linear, arrays, n_features, n_dense))


def _input(told: dict[str, Any], arrays: CheckedArrays) -> Input:
    kind, label, columns = told["kind"], told["label"], None
    must(kind in INPUTS, f"an input of the kind {kind!r} is unknown")
    if kind not in ("matrix", "table"):
        must(told["n_columns"] is None, f"there are no columns of {kind}")
        return Input(kind, label=_text_or_none(label) if kind == "files" else None)
    width = whole(told["n_columns"], "n_columns", high=MOST_INPUT_COLUMNS + 1)
    if kind == "matrix":
        return Input(kind, width)
    if "input_names_offsets" in arrays:
        columns = tuple(name.decode() for name in arrays.names("input_names", width).tolist())
    return Input(kind, width, columns, _text_or_none(label))


def _text_or_none(label: Any) -> str | None:
    must(label is None or isinstance(label, str), "the label is no text")
    return None if label is None else str(label)


def _check_columns_of_matrix(vocabulary: Vocabulary, width: int) -> None:
    """Refuse features that are not among the columns of the matrix; its columns are called by them."""
    keys = vocabulary.keys if vocabulary.integers else vocabulary.keys[:0]
    good = all(name.isdigit() and int(name) < width for name in vocabulary.dense_names)
    must(good and int(keys.max(initial=0)) < max(width, 1), f"features are not of {width} columns")


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
        with open(path, "rb") as given, tempfile.TemporaryFile() as copy:
            if is_stream(path):
                shutil.copyfileobj(given, copy)
                copy.seek(0)
            facts, arrays = contents_of(copy if is_stream(path) else given)
    except FileNotFoundError as error:
        raise in_file(path, None, "no such file; check the path") from error
    except (KeyError, TypeError, ValueError, AttributeError, OSError, RecursionError) as error:
        raise in_file(
            path, None, f"is no model file ({error}); expected one that chromatic wrote"
        ) from error
    if not isinstance(facts, dict):
        raise in_file(path, None, "is no model file; expected one that chromatic wrote")
    return facts, arrays


def _put_names(name: str, names: Names, arrays: Arrays) -> None:
    arrays[f"{name}_offsets"], arrays[f"{name}_bytes"] = names.offsets, names.data


def _put_vocabulary(vocabulary: Vocabulary, arrays: Arrays, facts: dict[str, Any], names: bool) -> None:
    arrays["keys"], arrays["counts"] = vocabulary.keys, vocabulary.counts
    arrays["dense_keys"] = vocabulary.dense_keys
    _put_names("dense_names", Names.pack(vocabulary.dense_names), arrays)
    _put_names("field_names", Names.pack(vocabulary.field_names), arrays)
    if vocabulary.unused_names:
        arrays["unused_keys"] = vocabulary.unused_keys
        _put_names("unused_names", Names.pack(vocabulary.unused_names), arrays)
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
    if vocabulary.schema is not None and vocabulary.schema.columns:
        facts["vocabulary"]["schema"] = vocabulary.schema.facts()
    if vocabulary.schema is not None and vocabulary.schema.classes:
        facts["vocabulary"]["classes"] = list(vocabulary.schema.classes)


def _vocabulary(told: dict[str, Any], arrays: CheckedArrays) -> Vocabulary:
    integers = bool(told["integers"])
    kind = np.uint32 if integers else np.uint64
    keys = arrays.take("keys", kind)
    dense_keys, dense_names = _dense(arrays, "dense", kind)
    unused_keys, unused_names = (
        _dense(arrays, "unused", kind) if "unused_keys" in arrays else (dense_keys[:0], ())
    )
    every = np.concatenate((keys, dense_keys, unused_keys))
    must(len(np.unique(every)) == len(every), "keys repeat")
    field_names = tuple(arrays.names("field_names").tolist())
    fields = None
    if "fields" in arrays:
        fields = arrays.take("fields", np.int32, len(keys))
        within(fields, -1, len(field_names), "fields")
    names = arrays.names("names", len(keys)) if "names_offsets" in arrays else None
    if not integers:
        of_dense = Names.pack(dense_names[len(dense_names) - len(dense_keys) :])
        for some, of_some in ((names, keys), (of_dense, dense_keys)):
            must(some is None or np.array_equal(some.hashes(), of_some), "names have other keys")
    counts, n_rows = arrays.take("counts", np.int64, len(keys)), whole(told["n_rows"], "n_rows")
    within(counts, 0, n_rows + 1, "counts")
    return Vocabulary(
        integers=integers,
        keys=keys,
        counts=counts,
        names=names,
        dense_keys=dense_keys,
        dense_names=dense_names,
        n_rows=n_rows,
        dropped_features=whole(told["dropped_features"], "dropped_features"),
        fields=fields,
        field_names=field_names,
        bins=_value_bins(arrays) if "value_hashes" in arrays else None,
        unused_keys=unused_keys,
        unused_names=unused_names,
        schema=_schema(told),
    )


def _schema(told: dict[str, Any]) -> Schema | None:
    """Return what a file says of the columns of a table, and of its labels that are texts."""
    if "schema" not in told and "classes" not in told:
        return None
    return Schema.of_facts(told.get("schema", []), told.get("classes", []))


def _dense(
    arrays: CheckedArrays, what: str, kind: type[np.generic]
) -> tuple[npt.NDArray[Any], tuple[bytes, ...]]:
    """Return the keys of dense features, and the names of these and of numeric columns before them."""
    keys, names = arrays.take(f"{what}_keys", kind), tuple(arrays.names(f"{what}_names").tolist())
    must(len(names) >= len(keys), "dense features have no names")
    return keys, names


def _value_bins(arrays: CheckedArrays) -> ValueBins:
    hashes = arrays.take("value_hashes", np.uint64)
    edges = arrays.numbers("value_edges")
    starts = arrays.starts("value_starts", len(hashes) + 1, len(edges))
    must(bool((np.diff(starts) > 0).all()), "value_starts leave a feature without bins")
    must(len(np.unique(hashes)) == len(hashes), "value_hashes repeat")
    return ValueBins(hashes, starts, edges, arrays.names("value_names", len(edges)))


def _coloring(told: dict[str, Any], arrays: CheckedArrays, vocabulary: Vocabulary) -> Coloring:
    colors = arrays.take("colors", np.int32, len(vocabulary))
    n_colors, strategy = whole(told["n_colors"], "n_colors", high=2 * MOST_COLORS + 1), told["strategy"]
    must(strategy in (*STRATEGIES, "fields"), "the strategy is unknown")
    within(colors, 0, n_colors, "colors")
    sampled = told.get("sampled_rows")
    return Coloring(
        colors=colors,
        n_colors=n_colors,
        strategy=strategy,
        palette=None if told["palette"] is None else whole(told["palette"], "the palette"),
        seed=whole(told["seed"], "the seed"),
        forced=whole(told["forced"], "forced", high=len(colors) + 1),
        conflicts=whole(told["conflicts"], "conflicts"),
        lower_bound=whole(told["lower_bound"], "the lower bound"),
        vocabulary=vocabulary.fingerprint,
        forbidden=np.zeros(len(colors), np.int32),
        sampled_rows=None if sampled is None else whole(sampled, "the rows that were colored"),
    )
