import json

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from chromatic.data import Reader
from chromatic.encoding.fitting import Settings, fit
from chromatic.errors import InputError
from chromatic.modelfile import Model, checksum_of, load, save

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
    return data, fit(data, LABELS.astype(float), Settings(40, coloring=coloring, **options)).encoding


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


def test_names_can_be_left_out(tmp_path):
    data, model = fitted()
    save(Model(model), tmp_path / "m.chroma", names=False)
    loaded = load(tmp_path / "m.chroma").encoding
    assert loaded.vocabulary.names is None
    assert (loaded.encode(data.rows).to_csr() != model.encode(data.rows).to_csr()).nnz == 0


def change(path, facts=None, **arrays):
    with safe_open(path, framework="numpy") as file:
        told = json.loads(file.metadata()["chromatic"])
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
    with pytest.raises(InputError, match="is of version 99; expected 1: update chromatic"):
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
