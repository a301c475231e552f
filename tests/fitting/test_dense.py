"""Dense features never make a fit fail: what the budget has no room for is binned, or left out."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from commands import chromatic
from hypothesis import given
from hypothesis import strategies as st
from naive import dense as naive

from chromatic import ChromaticEncoder, FrequencyEncoder, load
from chromatic.data import Reader
from chromatic.data.dense import chosen_for, correlations
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.errors import InputError, InputWarning
from chromatic.learn.encoders import encode_pair
from chromatic.learn.splits import Split

N = 1200
RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(0, 2, N)
SHARES = np.where(LABELS[:, None] > 0, np.linspace(0.15, 0.35, 302), 0.25)
WORDS = [
    [f"w{j}" for j in np.flatnonzero(row)] + [f"rare{i % 150}"]
    for i, row in enumerate(RANDOM.random((N, 302)) < SHARES)
]
NUMBERS = RANDOM.normal(size=(N, 40)) + LABELS[:, None] * np.linspace(0, 2, 40)
TABLE = pd.DataFrame(NUMBERS, columns=[f"c{i}" for i in range(40)])
MIXED = TABLE.assign(tags=WORDS)
MATRIX = NUMBERS.round(2)


def dense_of(encoder):
    vocabulary = encoder.encoding_.vocabulary
    return [name.decode() for name in vocabulary.dense_names]


@pytest.mark.parametrize("encoding", ["submodular", "target"])
@pytest.mark.parametrize("budget", [1, 2, 40, 256, 302])
def test_words_that_are_frequent_are_binned_like_others(encoding, budget):
    encoder = ChromaticEncoder(budget, encoding=encoding)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        columns = encoder.fit_transform(WORDS, LABELS)
    assert columns.shape[0] == N and 1 <= columns.shape[1] <= budget
    vocabulary = encoder.encoding_.vocabulary
    every = Reader().read(WORDS, dense_threshold=2).vocabulary
    assert dense_of(encoder) == [] and vocabulary.unused_names == ()
    assert (vocabulary.keys == every.keys).all() and (vocabulary.counts == every.counts).all()
    assert vocabulary.names.tolist() == every.names.tolist()
    unbinned = ChromaticEncoder(budget, encoding=encoding, dense_threshold=2)
    assert (unbinned.fit_transform(WORDS, LABELS) != columns).nnz == 0


def test_where_dense_features_fit_beside_a_column_they_pass_through():
    encoder = ChromaticEncoder(303).fit(WORDS, LABELS)
    assert len(dense_of(encoder)) == 302 and encoder.n_columns_ == 303


@pytest.mark.parametrize("encoding", ["submodular", "target"])
@pytest.mark.parametrize("budget", [1, 10])
def test_of_numeric_columns_those_that_tell_most_are_kept(encoding, budget):
    encoder = ChromaticEncoder(budget, encoding=encoding)
    message = (
        f"{40 - budget} of 40 dense columns are left out, as the budget is {budget}; expected a larger"
    )
    with pytest.warns(InputWarning, match=message) as told:
        columns = encoder.fit_transform(TABLE, LABELS)
    assert len(told) == 1
    telling = np.abs(np.corrcoef(NUMBERS.T, LABELS)[-1, :-1])
    best = np.sort(np.argsort(-telling)[:budget])
    assert dense_of(encoder) == [f"c{i}" for i in best]
    assert (columns.toarray() == NUMBERS[:, best]).all()
    assert (encoder.transform(TABLE).toarray() == NUMBERS[:, best]).all()


def test_equal_columns_go_by_their_order():
    same = pd.DataFrame(dict.fromkeys("edcba", NUMBERS[:, 39]))
    with pytest.warns(InputWarning, match="3 of 5"):
        assert dense_of(ChromaticEncoder(2).fit(same, LABELS)) == ["e", "d"]


def test_columns_of_a_matrix_that_are_left_out_are_known_nevertheless():
    encoder = ChromaticEncoder(10, handle_unknown="error")
    with pytest.warns(InputWarning, match="30 of 40"):
        encoder.fit(MATRIX, LABELS)
    assert encoder.transform(MATRIX).shape == (N, 10)
    kept, left = int(dense_of(encoder)[0]), int(encoder.encoding_.vocabulary.unused_names[0])
    assert encoder.locate(kept)["column"] == 0
    assert encoder.locate(left)["column"] is None
    with pytest.raises(InputError, match="is not among the features"):
        encoder.locate(40)


@pytest.mark.filterwarnings("ignore::chromatic.errors.InputWarning")
@pytest.mark.parametrize("data", [TABLE, MIXED, MATRIX], ids=["numbers", "mixed", "matrix"])
def test_a_model_goes_on_to_take_what_it_ignores(tmp_path, data):
    encoder = ChromaticEncoder(10).fit(data, LABELS)
    encoder.save(tmp_path / "model.chroma")
    loaded = load(tmp_path / "model.chroma")
    expected = encoder.transform(data)
    assert expected.shape[1] == encoder.n_columns_ <= 10
    assert (loaded.transform(data) != expected).nnz == 0
    assert loaded.encoding_.vocabulary.unused_names == encoder.encoding_.vocabulary.unused_names
    encoder.save(tmp_path / "again.chroma")
    assert (tmp_path / "model.chroma").read_bytes() == (tmp_path / "again.chroma").read_bytes()


def test_words_are_binned_beside_the_numbers_that_stay():
    encoder = ChromaticEncoder(10)
    with pytest.warns(InputWarning, match="31 of 40 dense columns are left out"):
        encoder.fit(MIXED, LABELS)
    assert dense_of(encoder) == [f"c{i}" for i in range(31, 40)]
    assert len(encoder.encoding_.vocabulary) == 452 and encoder.n_columns_ == 10
    every = ChromaticEncoder(42).fit(MIXED, LABELS)  # room for the numbers, and no warning
    assert dense_of(every) == list(TABLE) and len(every.encoding_.vocabulary) == 452


def test_a_model_without_the_numbers_encodes_one_row_of_words():
    encoder = ChromaticEncoder(1, encoding="target", collisions="drop")
    with pytest.warns(InputWarning, match="40 of 40"):
        encoder.fit(MIXED, LABELS)
    expected = encoder.transform(MIXED[:9]).toarray()
    assert np.any(expected)
    assert np.allclose([encoder.encode_one(row) for row in WORDS[:9]], expected)


@pytest.mark.filterwarnings("ignore::chromatic.errors.InputWarning")
@pytest.mark.parametrize("kind", ["words", "numbers", "mixed"])
def test_on_disk_the_model_is_the_same(tmp_path, within_memory, kind):
    path = tmp_path / ("train.vw" if kind == "words" else "train.parquet")
    if kind == "words":
        lines = (f"{2 * y - 1} | {' '.join(row)}\n" for y, row in zip(LABELS, WORDS, strict=True))
        path.write_text("".join(lines))
    else:
        (TABLE if kind == "numbers" else MIXED).assign(label=LABELS).to_parquet(path, row_group_size=100)
    files = []
    for within in ({}, within_memory):
        encoder = ChromaticEncoder(10, linear=0, min_gain=0, **within)
        columns = encoder.fit_transform(str(path))
        encoder.set_params(memory=None, cache=None).save(tmp_path / "some.chroma")
        files.append((columns.toarray().tolist(), (tmp_path / "some.chroma").read_bytes()))
    assert files[0] == files[1]
    assert len(files[0][0][0]) == 10


def printed(*arguments):
    """Run a command; return what it printed."""
    done = chromatic(*arguments, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_the_command_line_says_in_a_line_what_is_left_out(tmp_path):
    train, model, out = (str(tmp_path / name) for name in ("t.csv", "m.chroma", "out.svm"))
    TABLE.assign(label=LABELS).to_csv(train, index=False)
    told = printed("fit", train, "-o", model, "--budget=10")
    assert told.count("30 of 40 dense columns are left out, as the budget is 10") == 1
    assert printed("transform", model, train, "-o", out) == ""
    assert json.loads(printed("inspect", model, "--json"))["unused_dense_features"] == 30
    lines = (tmp_path / "out.svm").read_text().splitlines()
    assert len(lines) == N and all(len(line.split()) == 11 for line in lines)


@pytest.mark.filterwarnings("ignore::chromatic.errors.InputWarning")
@pytest.mark.parametrize("encoder", ["submodular", "target", "paper", "paper-target", "truncation"])
def test_every_encoder_that_is_compared_keeps_to_a_small_budget(encoder):
    data = MIXED.assign(label=LABELS)
    pair = encode_pair(Split.read(data, data[:50]), encoder, 10)
    assert pair.train.n_columns <= 10 and pair.test.n_columns == pair.train.n_columns
    assert pair.test.n_rows == 50


def test_truncation_keeps_the_first_of_dense_columns():
    encoder = FrequencyEncoder(10)
    with pytest.warns(InputWarning, match="332 of 342 dense columns are left out") as told:
        assert encoder.fit_transform(MIXED, LABELS).shape == (N, 10)
    assert len(told) == 1
    assert encoder.get_feature_names_out().tolist() == [f"c{i}" for i in range(10)]
    assert encoder.transform(MIXED[:5]).shape == (5, 10)


def test_features_of_fields_and_binned_ones_are_in_the_order_of_their_counts():
    fields = [f"s{i % 3}" for i in range(N)]
    table = pd.DataFrame({"shop": fields, "tags": WORDS})
    encoder = ChromaticEncoder(16, coloring="fields").fit(table, LABELS)
    vocabulary = encoder.encoding_.vocabulary
    assert (np.diff(vocabulary.counts) <= 0).all() and len(vocabulary) == 455
    assert (vocabulary.fields >= 0).sum() == 3
    assert encoder.transform(table).shape == (N, encoder.n_columns_)


def test_a_binned_feature_of_too_few_rows_is_dropped():
    rows = [["a", "b"] if i < 3 else ["a"] for i in range(20)]
    encoder = ChromaticEncoder(1, min_count=5, min_gain=0).fit(rows, [0, 1] * 10)
    assert encoder.encoding_.vocabulary.names.tolist() == [b"a"]
    assert encoder.encoding_.vocabulary.dropped_features == 1


@st.composite
def dense_columns(draw):
    """Dense columns of some rows, the first of them of a table, labels, and whether features are sparse."""
    n_rows, n_columns = draw(st.integers(2, 12)), draw(st.integers(1, 6))
    value = st.integers(-3, 3)
    column = st.lists(st.integers(0, 1), min_size=n_rows, max_size=n_rows) | st.lists(
        value, min_size=n_rows, max_size=n_rows
    )
    columns = draw(st.lists(column, min_size=n_columns, max_size=n_columns))
    labels = [0, 1, *draw(st.lists(st.integers(0, 3), min_size=n_rows - 2, max_size=n_rows - 2))]
    return columns, draw(st.integers(0, n_columns)), labels, draw(st.booleans())


def rows_of(dense, **of_vocabulary):
    """Rows of dense columns alone."""
    indptr = np.zeros(len(dense) + 1, np.int64)
    return Rows(indptr, np.empty(0, np.uint32), labels=None, dense=dense, **of_vocabulary)


@given(dense_columns(), st.integers(1, 7))
def test_the_choice_is_the_twin_s(data, budget):
    columns, n_numeric, labels, sparse = data
    n_dense, n_rows = len(columns), len(labels)
    vocabulary = Vocabulary(
        integers=True,
        keys=np.arange(100, 100 + sparse, dtype=np.uint32),
        counts=np.ones(int(sparse), np.int64),
        names=None,
        dense_keys=np.arange(n_dense - n_numeric, dtype=np.uint32),
        dense_names=tuple(b"%d" % i for i in range(n_dense)),
        n_rows=n_rows,
    )
    dense = np.array(columns, np.float64).T
    rows = rows_of(dense, n_features=len(vocabulary), vocabulary=vocabulary.fingerprint)
    y = np.array(labels, np.float64)
    chosen = chosen_for(vocabulary, rows, [y], budget=budget, min_count=0)
    numeric = [i < n_numeric for i in range(n_dense)]
    kept, binned = naive.chosen(columns, numeric, labels, budget, n_sparse=int(sparse))
    if chosen is None:
        assert (len(kept), binned) == (n_dense, [])
        return
    told = [naive.correlation(column, labels) for column in columns]
    assert correlations(rows, y, np.arange(n_dense)) == pytest.approx(told, abs=1e-4)
    assert chosen.binned.tolist() == binned
    assert sorted(told[i] for i in chosen.kept) == pytest.approx(sorted(told[i] for i in kept), abs=1e-4)
    recoded = chosen.recode(rows)
    ordered = sorted(binned, key=lambda i: -np.count_nonzero(columns[i]))
    for row in range(n_rows):
        codes = recoded.codes[recoded.indptr[row] : recoded.indptr[row + 1]]
        keys = [chosen.vocabulary.keys[code] for code in codes]
        present = {i - n_numeric for i in ordered if columns[i][row]}
        assert set(keys) == present and (np.diff(codes.astype(int)) > 0).all()
    assert (recoded.dense == dense[:, chosen.kept]).all()


@pytest.mark.parametrize("scale", [1.0, 1e300])
def test_correlations_are_the_same_in_any_pieces(monkeypatch, scale):
    dense = NUMBERS * scale
    rows = rows_of(dense, n_features=0, vocabulary=0)
    whole = correlations(rows, LABELS.astype(float), np.arange(40))
    assert whole == pytest.approx(np.abs(np.corrcoef(NUMBERS.T, LABELS)[-1, :-1]), abs=1e-5)
    monkeypatch.setattr("chromatic.data.rows.ROWS_PER_PIECE", 7)
    assert (correlations(rows, LABELS.astype(float), np.arange(40)) == whole).all()
