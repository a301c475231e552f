"""The co-occurrence graph as a file."""

import json

import numpy as np
import pytest
from commands import chromatic
from scipy.sparse import load_npz

from chromatic.data import Reader
from chromatic.errors import InputError
from chromatic.graph.export import export

LISTS = [["a", "b"]] * 3 + [["a", "c,d"], ["a", "b", "été"], ["e"]]


@pytest.fixture
def data():
    return Reader().read(LISTS, dense_threshold=2)


def edges_of(lists, k):
    """Pairs of names that k rows or more have, the more frequent one first."""
    names = sorted({name for row in lists for name in row})
    pairs = {}
    for row in lists:
        for one in row:
            for other in row:
                if names.index(one) < names.index(other):
                    pairs[one, other] = pairs.get((one, other), 0) + 1
    return {pair: count for pair, count in pairs.items() if count >= k}


@pytest.mark.parametrize("k", [1, 2, 9])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_lists_of_edges_have_names_and_exact_counts(data, tmp_path, suffix, k):
    import pandas as pd

    path = tmp_path / f"edges.{suffix}"
    n_edges = export(data.rows, path, k, vocabulary=data.vocabulary, threads=2)
    table = pd.read_csv(path) if suffix == "csv" else pd.read_parquet(path)
    assert list(table.columns) == ["feature", "other", "rows"] and len(table) == n_edges
    pairs = {(one, other): count for one, other, count in table.itertuples(index=False)}
    assert pairs == edges_of(LISTS, k)


def test_a_matrix_is_symmetric_and_by_code(data, tmp_path):
    path = tmp_path / "graph.npz"
    assert export(data.rows, path, vocabulary=data.vocabulary) == 4
    matrix = load_npz(path).toarray()
    names = [name.decode() for name in data.vocabulary.names.tolist()]
    assert np.array_equal(matrix, matrix.T) and matrix.shape == (5, 5)
    for (one, other), count in edges_of(LISTS, 1).items():
        assert matrix[names.index(one), names.index(other)] == count
    assert matrix.sum() == 2 * sum(edges_of(LISTS, 1).values())


def test_what_cannot_be_written_is_refused(data, tmp_path):
    for path, message in (
        (tmp_path / "graph.txt", "ends in .csv, .parquet, .npz"),
        (tmp_path / "none" / "graph.csv", "there is no folder"),
    ):
        with pytest.raises(InputError, match=message):
            export(data.rows, path, vocabulary=data.vocabulary)


def test_the_command_exports(tmp_path):
    (tmp_path / "rows.tokens").write_text("".join(f"1 {' '.join(row)}\n" for row in LISTS))
    asked = ["--dense-threshold", "2", "--min-edge-count", "2", "--export", "edges.csv", "--json"]
    done = chromatic("graph", "rows.tokens", *asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["exported_edges"] == 1
    assert (tmp_path / "edges.csv").read_text() == "feature,other,rows\na,b,4\n"
