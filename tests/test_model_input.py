"""What model files say of the input of a fit: as much as a pickle does, and nothing that cannot be."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from commands import chromatic
from test_modelfile import change, facts_of

from chromatic import ChromaticEncoder, FrequencyEncoder, HashingEncoder, load
from chromatic.errors import InputError, InputWarning
from chromatic.model import Input

SHOPS = np.random.default_rng(0).integers(0, 40, 600)
Y = SHOPS < 13


@pytest.mark.parametrize("suffix", ["csv", "parquet", None])
def test_a_feature_called_label_is_one_after_loading_too(tmp_path, suffix):
    """Also on the command line, where nothing but the file tells that no column has labels."""
    table = pd.DataFrame({"label": [f"s{shop}" for shop in SHOPS], "rows": np.arange(600) + 0.5})
    X = table if suffix is None else tmp_path / f"rows.{suffix}"
    path = tmp_path / f"rows.{suffix or 'csv'}"
    table.to_parquet(path) if suffix == "parquet" else table.to_csv(path, index=False)
    encoder = ChromaticEncoder(16, label="").fit(X, Y)
    encoder.save(tmp_path / "m.chroma")
    wanted = encoder.transform(X)
    for other in (load(tmp_path / "m.chroma"), pickle.loads(pickle.dumps(encoder))):
        assert (other.transform(X) != wanted).nnz == 0
    for command in (["transform", "m.chroma", path.name], ["report", "m.chroma", "--test", path.name]):
        done = chromatic(*command, "-o", tmp_path / "out.npz", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, b"")
        if command[0] == "transform":
            assert (sp.load_npz(tmp_path / "out.npz") != wanted).nnz == 0


def test_the_column_of_labels_that_a_fit_named_is_that_of_other_rows(tmp_path):
    table = pd.DataFrame({"shop": [f"s{shop}" for shop in SHOPS], "clicked": Y.astype(int)})
    table.to_csv(tmp_path / "train.csv", index=False)
    table.drop(columns="clicked").to_csv(tmp_path / "new.csv", index=False)
    args = ["fit", "train.csv", "--label", "clicked", "--budget", 16, "-o", "m.chroma"]
    assert chromatic(*args, cwd=tmp_path).returncode == 0
    wanted = load(tmp_path / "m.chroma").transform(tmp_path / "new.csv")
    for name in ("train.csv", "new.csv"):
        done = chromatic("transform", "m.chroma", name, "-o", tmp_path / "out.npz", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, b"")
        assert (sp.load_npz(tmp_path / "out.npz") != wanted).nnz == 0


def test_where_rows_were_no_table_a_table_s_column_label_is_the_label(tmp_path):
    rows = [[f"s{shop}"] for shop in SHOPS]
    pd.DataFrame({"label": Y.astype(int), "features": rows}).to_parquet(tmp_path / "rows.parquet")
    encoder = ChromaticEncoder(16).fit(rows, Y)
    encoder.save(tmp_path / "m.chroma")
    assert encoder.model_.input == load(tmp_path / "m.chroma").model_.input == Input("rows")
    assert (encoder.transform(tmp_path / "rows.parquet") != encoder.transform(rows)).nnz == 0


@pytest.mark.parametrize("kind", [ChromaticEncoder, FrequencyEncoder, HashingEncoder])
@pytest.mark.parametrize("suffix", [None, "csv", "parquet"])
def test_a_column_of_labels_is_no_feature_where_y_is_given(kind, suffix, tmp_path):
    """It would tell the labels: a learner on these columns would be right in all training rows."""
    table = pd.DataFrame({"shop": [f"s{shop}" for shop in SHOPS], "label": np.where(Y, "yes", "no")})
    X, path = table, tmp_path / f"rows.{suffix}"
    if suffix is not None:
        X = path
        table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    with pytest.warns(InputWarning, match="labels are given, and the column 'label' is left out"):
        wanted = kind(16).fit_transform(X, Y)
    without = kind(16).fit(table.drop(columns="label"), Y)
    assert (without.fit_transform(table.drop(columns="label"), Y) != wanted).nnz == 0
    assert (without.transform(X) != kind(16).fit(X, Y).transform(X)).nnz == 0


@pytest.mark.parametrize("kind", [ChromaticEncoder, FrequencyEncoder])
def test_names_are_made_for_the_columns_that_exist_only(kind, tmp_path):
    """A matrix of 2**31 columns, of which 41 are used."""
    columns = np.stack((SHOPS * 1000, np.full(600, (1 << 31) - 1)), axis=1)
    X = sp.csr_array((np.ones(1200), columns.ravel(), np.arange(601) * 2), shape=(600, 1 << 31))
    tracemalloc.start()
    encoder = kind(16).fit(X, Y)
    names = encoder.get_feature_names_out().tolist()
    if kind is ChromaticEncoder:
        encoder.save(tmp_path / "m.chroma")
        assert load(tmp_path / "m.chroma").get_feature_names_out().tolist() == names
    assert tracemalloc.get_traced_memory()[1] < 1 << 26
    tracemalloc.stop()
    assert names[-1] == f"x{(1 << 31) - 1}"


@pytest.fixture
def matrix_model(tmp_path):
    X = sp.csr_array(
        (np.ones(1200), (np.repeat(np.arange(600), 2), np.stack((SHOPS, SHOPS * 0 + 50), 1).ravel()))
    )
    encoder = ChromaticEncoder(16, random_state=7).fit(X, Y)
    encoder.save(tmp_path / "m.chroma")
    return tmp_path / "m.chroma", encoder, X


def test_a_file_sets_no_parameter_of_the_machine(matrix_model):
    path, encoder, X = matrix_model
    forged = {"n_jobs": 10**6, "memory": "1G", "cache": "/", "verbose": 9, "what": 1}
    change(path, {"parameters": facts_of(path)["parameters"] | forged})
    loaded = load(path)
    assert loaded.get_params() == encoder.get_params() and loaded.random_state == 7
    assert (loaded.transform(X) != encoder.transform(X)).nnz == 0


@pytest.mark.parametrize(
    ("section", "forged", "message"),
    [
        ("parameters", {"budget": 0}, "budget is 0; expected a whole number from 1"),
        ("parameters", {"handle_unknown": "never"}, "handle_unknown is 'never'"),
        ("parameters", {"random_state": [1]}, "seed is"),
        ("input", {"n_columns": 10**12}, "n_columns is 1000000000000"),
        ("input", {"n_columns": -1}, "n_columns is -1"),
        ("input", {"n_columns": 50}, "features are not of 50 columns"),
        ("input", {"n_columns": 7}, "features are not of 7 columns"),
        ("input", {"n_columns": None}, "n_columns is None"),
        ("input", {"n_columns": 51.0}, "n_columns is 51.0"),
        ("input", {"kind": "rows"}, "there are no columns of rows"),
        ("input", {"kind": "table", "label": 3}, "the label is no text"),
        ("vocabulary", {"n_rows": -1}, "n_rows is -1"),
        ("vocabulary", {"n_rows": 1 << 64}, "n_rows is 18446744073709551616"),
        ("vocabulary", {"dropped_features": True}, "dropped_features is True"),
        ("coloring", {"n_colors": 1 << 40}, "n_colors is 1099511627776"),
        ("coloring", {"forced": 10**6}, "forced is 1000000"),
        ("coloring", {"palette": "9" * 99}, r"the palette is 9{40}\)"),
        ("coloring", {"strategy": ["x"]}, "the strategy is unknown"),
        ("coloring", {"seed": 0.5}, "the seed is 0.5"),
        ("encoding", {"prior": 0.0}, "the prior or the smoothing"),
        ("encoding", {"prior": 1.5}, "the prior or the smoothing"),
        ("encoding", {"smoothing": -1.0}, "the prior or the smoothing"),
    ],
    ids=str,
)
def test_facts_that_cannot_be_are_refused(matrix_model, section, forged, message):
    path, _, _ = matrix_model
    change(path, {section: facts_of(path)[section] | forged})
    with pytest.raises(InputError, match=rf"m.chroma: is damaged \(.*{message}") as refused:
        load(path)
    assert len(str(refused.value)) < len(str(path)) + 200


def test_what_could_not_be_loaded_is_not_saved(matrix_model):
    path, encoder, _ = matrix_model
    with pytest.raises(InputError, match="budget is 0; expected a whole number from 1"):
        encoder.set_params(budget=0).save(path)
    assert load(path).budget == 16
