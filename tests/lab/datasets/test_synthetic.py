import gzip

import naive
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.data import Reader
from chromatic.errors import InputError
from chromatic.lab.benchmarks.shapes import extrapolated, measured
from chromatic.lab.datasets.shapes import SHAPES
from chromatic.lab.datasets.synthetic import MOST_ROWS, make, shape_of, text

ROWS = {
    "url": (15_000, 60_000),
    "kdda": (15_000, 60_000),
    "kddb": (15_000, 60_000),
    "kdd12": (20_000, 160_000),
}


def made(shape, rows, first=0, **options):
    return b"".join(text(shape, rows, first, **options))


@pytest.mark.kernels
@given(
    st.sampled_from(sorted(SHAPES)),
    st.one_of(st.integers(0, 100), st.integers(0, MOST_ROWS - 1)),
    st.integers(0, (1 << 63) - 1),
)
def test_a_row_is_the_naive_one(name, t, seed):
    label, features = naive.synthetic_row(SHAPES[name], t, seed)
    line = made(SHAPES[name], 1, t, seed=seed).split()
    assert int(line[0]) == label
    assert [(int(f), float(v)) for f, v in (word.split(b":") for word in line[1:])] == features


@pytest.mark.kernels
@given(st.sampled_from(sorted(SHAPES)), st.integers(1, 40), st.integers(1, 40), st.integers(1, 3))
def test_text_does_not_depend_on_pieces_and_threads(name, rows, piece, threads):
    whole = made(SHAPES[name], rows)
    assert made(SHAPES[name], rows, piece=piece, threads=threads) == whole
    cut = rows // 2
    assert (made(SHAPES[name], cut) if cut else b"") + made(SHAPES[name], rows - cut, cut) == whole


def test_another_seed_gives_other_rows():
    assert made(SHAPES["kdd12"], 10, seed=1) != made(SHAPES["kdd12"], 10)


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_at_full_size_has_the_papers_figures_within_a_quarter(name):
    shape = SHAPES[name]
    small, large = (measured(shape, rows, test_rows=1) for rows in ROWS[name])
    full = extrapolated(small, large, shape.paper.rows)
    assert full.dense_features == shape.paper.dense_features
    for figure in ("sparse_features", "avg_nnz", "max_nnz", "pairs_per_row", "avg_degree", "colors"):
        paper = getattr(shape.paper, figure)
        assert abs(getattr(full, figure) / paper - 1) < 0.25, (figure, getattr(full, figure), paper)


def test_new_features_keep_coming_and_old_ones_stay(tmp_path):
    shape = SHAPES["kdda"]
    make(shape, tmp_path / "train.svm", 20_000)
    train = Reader().read(tmp_path / "train.svm")
    unseen = []
    for first in (20_000, 100_000):
        make(shape, tmp_path / "test.svm", 1000, first)
        test = Reader().read(tmp_path / "test.svm", vocabulary=train.vocabulary)
        unseen.append(test.rows.unseen / 1000)
        assert test.rows.average_nnz > 5
    assert 1 < unseen[0] < unseen[1]


def test_the_label_depends_on_many_features(tmp_path):
    from scipy.sparse import csr_array
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    make(SHAPES["kdda"], tmp_path / "rows.svm", 7_000)
    rows = Reader().read(tmp_path / "rows.svm").rows
    arrays = [1.0] * len(rows.codes), rows.codes.astype("int32"), rows.indptr.astype("int32")
    matrix = csr_array(arrays, shape=(rows.n_rows, rows.n_features))

    def auc(columns):
        model = LogisticRegression(C=0.3, solver="liblinear")
        model.fit(matrix[:6_000, :columns], rows.labels[:6_000])
        return roc_auc_score(rows.labels[6_000:], model.decision_function(matrix[6_000:, :columns]))

    assert 0.5 < auc(20) < auc(1000) - 0.05


def test_a_file_may_be_compressed_and_takes_its_name_when_whole(tmp_path):
    make(SHAPES["kdd12"], tmp_path / "rows.svm.gz", 50, threads=2)
    assert gzip.decompress((tmp_path / "rows.svm.gz").read_bytes()) == made(SHAPES["kdd12"], 50)
    with pytest.raises(InputError, match="expected 1 to"):
        make(SHAPES["kdd12"], tmp_path / "none.svm", 0)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.svm.gz"]


def test_what_cannot_be_made_is_said():
    with pytest.raises(InputError, match="expected one of url, kdda, kddb, kdd12"):
        shape_of("kddc")
    with pytest.raises(InputError, match="seed is -1"):
        made(SHAPES["url"], 1, seed=-1)
    with pytest.raises(InputError, match="expected 1 to"):
        made(SHAPES["url"], 2, MOST_ROWS - 1)
