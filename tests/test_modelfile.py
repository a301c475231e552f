import json
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from scipy.sparse import csr_matrix

import chromatic
from chromatic.data import Reader
from chromatic.data.checked import CheckedArrays
from chromatic.errors import InputError
from chromatic.fitting import LocalSource, fit
from chromatic.model import Input, Model
from chromatic.modelfile import VERSION, checksum_of, load, save
from chromatic.parameters import Settings
from chromatic.registry import ENCODINGS, encoding_class

RANDOM = np.random.default_rng(0)
LABELS = RANDOM.random(300) < 0.4
ROWS = [[f"a{i % 7}", f"b{i % 31}", f"c{i % 101}"] for i in range(300)]


def read(kind):
    if kind == "integers":
        return Reader().read([[i % 7, 10 + i % 31, 50 + i % 101] for i in range(300)])
    if kind == "values":
        return Reader().read([{f"v{i % 30}": i % 5 + 1.0, "x": 2.0} for i in range(300)], values="distinct")
    if kind == "fields":
        table = pd.DataFrame(ROWS, columns=["a", "b", "c"]).assign(price=RANDOM.random(300))
        return Reader().read(table, keep_fields=True)
    return Reader().read(ROWS)


def fitted(kind="strings", **options):
    data = read(kind)
    coloring = "fields" if kind == "fields" else "balanced"
    return data, fit(LocalSource(data, LABELS), Settings(40, coloring=coloring, **options)).encoding


@pytest.mark.parametrize("kind", ["strings", "integers", "values", "fields"])
@pytest.mark.parametrize("encoding", ["submodular", "target", "frequency", "identity"])
def test_a_loaded_model_encodes_as_the_saved_one(tmp_path, kind, encoding):
    data, model = fitted(kind, encoding=encoding)
    save(Model(model, {"budget": 40}), tmp_path / "m.chroma")
    loaded = load(tmp_path / "m.chroma")
    assert loaded.parameters == {"budget": 40}
    one, two = (m.encode(data.rows).to_csr() for m in (model, loaded.encoding))
    assert one.shape == two.shape and (one != two).nnz == 0
    save(loaded, tmp_path / "again.chroma")
    assert (tmp_path / "m.chroma").read_bytes() == (tmp_path / "again.chroma").read_bytes()


@pytest.mark.parametrize("kind", ["strings", "integers"])
def test_a_file_is_what_the_safetensors_library_would_write(tmp_path, kind):
    save(Model(fitted(kind)[1]), tmp_path / "ours")
    with safe_open(tmp_path / "ours", framework="numpy") as file:
        metadata = file.metadata()
    save_file(load_file(tmp_path / "ours"), tmp_path / "theirs", metadata)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_names_can_be_left_out(tmp_path):
    data, model = fitted()
    save(Model(model), tmp_path / "m.chroma", names=False)
    loaded = load(tmp_path / "m.chroma").encoding
    assert loaded.vocabulary.names is None
    assert (loaded.encode(data.rows).to_csr() != model.encode(data.rows).to_csr()).nnz == 0


def facts_of(path):
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["chromatic"])


def change(path, facts=None, **arrays):
    told = facts_of(path)
    kept = {name: array for name, array in {**load_file(path), **arrays}.items() if array is not None}
    told |= facts or {}
    told["checksum"] = checksum_of(told, kept)
    save_file(kept, path, {"chromatic": json.dumps(told)})


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"colors": None}, "'colors'"),
        ({"colors": np.full(9999, 0, np.int32)}, "colors has 9999 elements"),
        ({"columns": np.zeros(3, np.int32)}, "columns has 3 elements"),
        ({"keys": np.zeros(4, np.uint32)}, "keys is not an array of uint64"),
        ({"keys": np.zeros(137, np.uint64)}, "keys repeat"),
        ({"keys": np.arange(132, dtype=np.uint64)}, "names have other keys"),
        ({"names_offsets": np.array([0, 10**9])}, "names_offsets"),
        ({"bin_starts": np.array([0, 1])}, "bin_starts"),
        ({"null_bins": np.zeros(1)}, "null_bins is not an array of int64"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, arrays, message):
    path = tmp_path / "m.chroma"
    save(Model(fitted()[1]), path)
    change(path, **arrays)
    with pytest.raises(InputError, match=f"m.chroma: is damaged .*{message}"):
        load(path)


@pytest.mark.parametrize("name", ["colors", "columns", "bin_columns", "null_bins", "bin_starts"])
@pytest.mark.parametrize("value", [-2, 10**6])
def test_indices_out_of_bounds_are_refused(tmp_path, name, value):
    path = tmp_path / "m.chroma"
    save(Model(fitted()[1]), path)
    array = load_file(path)[name].copy()
    array[len(array) // 2] = value
    change(path, **{name: array})
    with pytest.raises(InputError, match="is damaged"):
        load(path)


def test_files_that_are_no_models_are_refused(tmp_path):
    path = tmp_path / "m.chroma"
    save(Model(fitted()[1]), path)
    data = path.read_bytes()
    for i, content in enumerate([b"", b"no model", data[: len(data) // 2], data[:100], data + b"x"]):
        (tmp_path / f"{i}").write_bytes(content)
        with pytest.raises(InputError, match="is no model file"):
            load(tmp_path / f"{i}")
    save_file({"x": np.zeros(3)}, tmp_path / "other")
    with pytest.raises(InputError, match="is no model file; expected one that chromatic wrote"):
        load(tmp_path / "other")
    with pytest.raises(InputError, match="no such file"):
        load(tmp_path / "nowhere")
    change(path, {"version": 99})
    with pytest.raises(InputError, match="is of version 99; expected 3 at most: update chromatic"):
        load(path)


def test_a_file_with_any_bit_changed_is_refused(tmp_path):
    path = tmp_path / "m.chroma"
    save(Model(fitted()[1]), path)
    data = path.read_bytes()
    for at in RANDOM.integers(0, 8 * len(data), 300):
        changed = bytearray(data)
        changed[at // 8] ^= 1 << at % 8
        path.write_bytes(changed)
        with pytest.raises(InputError, match=r"m.chroma: is (damaged|no model file)"):
            load(path)


KEPT = sorted((Path(__file__).parent / "models").glob("*.chroma"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_files_of_every_version_load_for_ever_and_encode_as_they_did(path):
    kept = json.loads((path.parent / "expected.json").read_text())[path.name.split(".")[0]]
    rows = kept["rows"]
    encoder = chromatic.load(path)
    found = encoder.transform(pd.DataFrame(rows) if isinstance(rows, dict) else rows)
    expected = csr_matrix(
        (kept["values"], kept["columns"], kept["indptr"]), (len(kept["indptr"]) - 1, kept["width"])
    )
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.toarray(), expected.toarray().astype(found.dtype))
    if isinstance(rows, list) and isinstance(rows[0], list):
        for row, one in zip(rows, expected.toarray(), strict=True):
            columns = encoder.encode_one(row)
            given = one if path.name.split("-")[0].split(".")[0] != "submodular" else np.flatnonzero(one)
            np.testing.assert_array_equal(columns, given.astype(columns.dtype))


def test_there_is_a_kept_file_of_every_kind_of_encoding():
    for version in range(1, VERSION + 1):
        of_version = [path for path in KEPT if f".v{version}." in path.name]
        kinds = {load(path).encoding.name for path in of_version}
        assert kinds == {encoding_class(name).name for name in ENCODINGS} and len(of_version) == (
            9 if version > 2 else 7
        )


def test_a_file_of_version_1_is_saved_as_one_of_this_version(tmp_path):
    for path in KEPT:
        if ".v1." in path.name:
            model = load(path)
            save(model, tmp_path / "again.chroma")
            again = load(tmp_path / "again.chroma")
            assert again.input == model.input == Input("rows") and again.parameters == model.parameters
            assert again.encoding.column_names(str) == model.encoding.column_names(str)


def packed(header, content=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content


def array(shape, begin, end, dtype="I32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ((1 << 62).to_bytes(8, "little") + b"{}", "its header cannot have 4611686018427387904 bytes"),
        (packed({"a": array([2], 0, 8), "b": array([2], 4, 12)}, bytes(12)), "b is not where it should be"),
        (packed({"a": array([1 << 60], 0, 1 << 62)}), "a is not where it should be"),
        (packed({"a": array([-1], 0, -4)}), "a is not where it should be"),
        (packed({"a": array([2.0], 0, 8)}, bytes(8)), "a is not where it should be"),
        (packed({"a": array([2], 4, 12)}, bytes(12)), "a is not where it should be"),
        (packed({"a": array([2], 0, 8)}, bytes(9)), "something follows its arrays"),
        (packed({"a": array([1], 0, 8, "PICKLE")}, bytes(8)), "PICKLE"),
        (packed(b'{"__metadata__":{},"__metadata__":{}}'), "a key stands twice"),
        (packed(b"[" * 200_000), "recursion"),
        (packed(b"[]"), "is no model file"),
        (b"cos\nsystem\n(S'touch pwned'\ntR.", "is no model file"),
        (pickle.dumps(os.getcwd), "is no model file"),
    ],
    ids=str,
)
def test_headers_that_lie_are_refused_before_memory_is_taken(tmp_path, content, message):
    path = tmp_path / "m.chroma"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        load(path)
    assert os.listdir(tmp_path) == ["m.chroma"]


@pytest.mark.parametrize(
    ("arrays", "facts", "message"),
    [
        ({"rates": np.nan}, {}, "rates are not between 0 and 1"),
        ({"null_rates": np.inf}, {}, "rates are not between 0 and 1"),
        ({"cuts": np.nan}, {}, "cuts do not ascend"),
        ({"counts": 10**9}, {}, "counts is out of bounds"),
        ({"bin_columns": 0}, {}, "bin_columns"),
        ({}, {"coloring": {"n_colors": 1 << 40}}, "n_colors is 1099511627776"),
        ({}, {"encoding": {"n_columns": 1 << 50}}, "bin_columns"),
        ({}, {"encoding": {"prior": float("nan")}}, "the prior or the smoothing"),
    ],
    ids=str,
)
def test_numbers_that_cannot_be_are_refused(tmp_path, arrays, facts, message):
    path = tmp_path / "m.chroma"
    save(Model(fitted(min_gain=0.0)[1]), path)
    told, changed = facts_of(path), {}
    for name, value in arrays.items():
        changed[name] = load_file(path)[name].copy()
        changed[name][: len(changed[name]) // 2 + 1] = value
    change(path, {name: told[name] | more for name, more in facts.items()}, **changed)
    with pytest.raises(InputError, match=message):
        load(path)


def test_a_model_file_that_shrinks_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "m.chroma"
    save(Model(fitted()[1]), path)
    size = os.stat(path)
    os.truncate(path, size.st_size - 5000)
    monkeypatch.setattr("chromatic._safetensors.os.fstat", lambda handle: size)
    with pytest.raises(InputError, match="it ends too early"):
        load(path)


def test_where_null_has_a_column_every_feature_has_one(tmp_path):
    path = tmp_path / "m.chroma"
    save(Model(fitted(null="emit", min_gain=0.0)[1]), path)
    change(path, columns=np.full_like(load_file(path)["columns"], -1))
    with pytest.raises(InputError, match="columns is out of bounds"):
        load(path)


def test_values_whose_sums_are_infinite_are_refused():
    arrays = CheckedArrays({"values": np.array([1.0, -1e300])})
    with pytest.raises(ValueError, match="values has numbers of 1e\\+200 and more"):
        arrays.summable("values", 2)
