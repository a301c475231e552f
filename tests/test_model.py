"""A model is whole: whatever it was fitted on, a saved and loaded encoder equals a pickled one."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from chromatic import ChromaticEncoder, load

N = 400
RANDOM = np.random.default_rng(0)
FIELDS = RANDOM.integers(0, [12, 80], (N, 2))
Y = (RANDOM.random(N) < np.where(FIELDS[:, 0] % 3 == 0, 0.8, 0.2)).astype(int)
TOKENS = [[f"a{a}", f"b{b}"] for a, b in FIELDS]
TABLE = pd.DataFrame(
    {
        "shop": [f"s{a}" for a in FIELDS[:, 0]],
        "page": [f"p{b}" for b in FIELDS[:, 1]],
        "price": np.arange(N) / 7,
    }
)
MATRIX = sp.csr_array(
    (np.ones(2 * N), (FIELDS + np.array([0, 20])).ravel(), np.arange(N + 1) * 2), shape=(N, 110)
)


def written(folder, name, lines):
    (folder / name).write_text("".join(lines))
    return folder / name


INPUTS = {
    "lists": lambda folder: (TOKENS, Y),
    "sets": lambda folder: ([set(row) for row in TOKENS], Y),
    "dicts": lambda folder: ([dict.fromkeys(row, 1.0) for row in TOKENS], Y),
    "integers": lambda folder: ((FIELDS + np.array([0, 20])).tolist(), Y),
    "csr": lambda folder: (MATRIX, Y),
    "csc": lambda folder: (MATRIX.tocsc(), Y),
    "array": lambda folder: (MATRIX.toarray(), Y),
    "pandas": lambda folder: (TABLE, Y),
    "pandas with labels": lambda folder: (TABLE.assign(label=Y), None),
    "pandas with a feature called label": lambda folder: (TABLE.rename(columns={"shop": "label"}), Y),
    "polars": lambda folder: (pl.from_pandas(TABLE), Y),
    "arrow": lambda folder: (pa.Table.from_pandas(TABLE), Y),
    "text labels": lambda folder: (TOKENS, np.array(["no", "yes"])[Y]),
    "a file": lambda folder: (
        written(
            folder, "rows.tokens", [f"{y} {' '.join(row)}\n" for y, row in zip(Y, TOKENS, strict=True)]
        ),
        None,
    ),
    "a table's file": lambda folder: (
        written(folder, "rows.csv", [TABLE.assign(label=Y).to_csv(index=False)]),
        None,
    ),
}
FITTED = ("n_colors_", "n_columns_", "smoothing_", "n_features_in_", "feature_names_in_", "training_rows_")
ARRAYS = ("colors_", "field_dims_")


def same(one, other, name):
    values = [getattr(encoder, name, None) for encoder in (one, other)]
    assert (values[0] is None) == (values[1] is None), name
    assert values[0] is None or np.array_equal(*values), name


@pytest.mark.parametrize(
    "options", [{}, {"encoding": "target"}, {"encoding": "frequency"}, {"leakage": "split"}], ids=str
)
@pytest.mark.parametrize("kind", INPUTS)
def test_saved_and_loaded_equals_pickled(kind, options, tmp_path):
    X, y = INPUTS[kind](tmp_path)
    encoder = ChromaticEncoder(24, dense_threshold=0.5, **options).fit(X, y)
    encoder.save(tmp_path / "m.chroma")
    pickled, loaded = pickle.loads(pickle.dumps(encoder)), load(tmp_path / "m.chroma")
    for name in (*FITTED, *ARRAYS):
        same(pickled, loaded, name)
    assert loaded.model_.input == pickled.model_.input == encoder.model_.input
    assert loaded.get_params() == pickled.get_params()
    assert loaded.get_feature_names_out().tolist() == pickled.get_feature_names_out().tolist()
    assert (loaded.transform(X) != pickled.transform(X)).nnz == 0
    assert loaded.explain(0) == pickled.explain(0)
    loaded.save(tmp_path / "again.chroma")
    assert (tmp_path / "again.chroma").read_bytes() == (tmp_path / "m.chroma").read_bytes()


@pytest.mark.parametrize("change", ["missing", "renamed", "reordered"])
def test_a_loaded_encoder_refuses_other_columns_as_the_fitted_one_does(change, tmp_path):
    other = {
        "missing": TABLE.drop(columns="page"),
        "renamed": TABLE.rename(columns={"page": "seite"}),
        "reordered": TABLE[["page", "shop", "price"]],
    }[change]
    encoder = ChromaticEncoder(24).fit(TABLE, Y)
    encoder.save(tmp_path / "m.chroma")
    messages = []
    for one in (encoder, load(tmp_path / "m.chroma")):
        with pytest.raises(
            ValueError, match="feature names should match those that were passed during fit"
        ) as error:
            one.transform(other)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_a_loaded_encoder_keeps_a_feature_called_label_a_feature(tmp_path):
    table = TABLE.rename(columns={"shop": "label"})
    encoder = ChromaticEncoder(24, label="").fit(table, Y)
    encoder.save(tmp_path / "m.chroma")
    loaded = load(tmp_path / "m.chroma")
    other = table.assign(label="s99")
    for rows in (table, other):
        assert (loaded.transform(rows) != encoder.transform(rows)).nnz == 0
    assert (loaded.transform(table) != loaded.transform(other)).nnz > 0


def test_the_rows_to_train_on_are_in_the_file(tmp_path):
    encoder = ChromaticEncoder(24, leakage="split", split_rate=2).fit(TOKENS, Y)
    encoder.save(tmp_path / "m.chroma")
    assert 0 < len(encoder.training_rows_) < N
    assert load(tmp_path / "m.chroma").training_rows_.tolist() == encoder.training_rows_.tolist()
