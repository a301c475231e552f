"""Equal rows as one row with a weight."""

import naive
import numpy as np
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from chromatic.cli.main import app
from chromatic.data import Batch
from chromatic.data.merging import merged

RUN = CliRunner()
features = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([1.0, 1.0, 0.5, 3.0])), max_size=3)
row = st.tuples(st.sampled_from([0.0, 1.0]), features.map(tuple), st.sampled_from([0.0, 2.0]))


def batch_of(rows):
    indptr = np.cumsum([0, *(len(features) for _, features, _ in rows)])
    pairs = [pair for _, features, _ in rows for pair in features]
    ids, values = ([pair[i] for pair in pairs] for i in (0, 1))
    batch = Batch.of(indptr, np.array(ids, np.uint32), None, np.array(values, float))
    labels, numbers = (np.array([row[i] for row in rows], float) for i in (0, 2))
    return batch.__class__(
        **vars(batch) | {"labels": labels, "numeric": numbers[:, None], "numeric_names": (b"n",)}
    )


def rows_of(batch):
    pairs = list(zip(batch.ids.tolist(), batch.all_values().tolist(), strict=True))
    ends = batch.indptr.tolist()
    for i, label in enumerate(batch.labels.tolist()):
        row = label, tuple(pairs[ends[i] : ends[i + 1]]), float(batch.numeric[i, 0])
        yield row, int(batch.weights[i])


@pytest.mark.kernels
@given(st.lists(row, max_size=30), st.integers(1, 9))
def test_equal_rows_are_one_where_they_first_stand_however_rows_are_cut(rows, size):
    pieces = [rows[i : i + size] for i in range(0, len(rows), size)]
    once = merged(lambda: map(batch_of, pieces))
    assert [told for batch in once for told in rows_of(batch)] == naive.merge(rows)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("merge")
    for name, n in (("train.svm", 3000), ("test.svm", 200)):
        lines = (f"{int(i % 20 < i % 7)} {i % 20}:1 {100 + i % 7}:1 {300 + i % 2}:2\n" for i in range(n))
        (folder / name).write_text("".join(lines))
    return folder


def encode(files, out, *more):
    command = ["encode", str(files / "train.svm"), "--test", str(files / "test.svm"), "-o", str(out)]
    return RUN.invoke(app, [*command, "--budget", "16", *more])


def test_merged_rows_are_the_rows_that_there_were(files, tmp_path):
    for merge in ((), ("--merge",)):
        for to in ("vw", "parquet"):
            given = "--to", to, "--linear", "0", *merge
            done = encode(files, tmp_path / f"{to}{len(merge)}", *given)
            assert done.exit_code == 0
    every, once = ((tmp_path / f"vw{i}" / "train.vw").read_text().splitlines() for i in (0, 1))
    assert len(once) < len(every) / 20
    told = {}
    for line in once:
        head, _, features = line.partition(" |")
        label, weight = head.split(" ")
        told[f"{label} |{features}"] = int(weight)
    assert list(told.items()) == naive.merge(every)
    table = pyarrow.parquet.read_table(tmp_path / "parquet1" / "train.parquet")
    assert table.column_names[:3] == ["label", "weight", "features"]
    assert table["weight"].to_pylist() == list(told.values())
    for i in (0, 1):  # test rows stay as they are
        assert (tmp_path / f"vw{i}" / "test.vw").read_text().count("\n") == 200


def test_a_limit_of_memory_threads_and_pieces_do_not_change_what_is_written(files, tmp_path):
    for name, more in {
        "a": ("--threads", "1"),
        "b": ("--threads", "3", "--memory", "4G", "--cache", str(tmp_path / "cache")),
    }.items():
        done = encode(files, tmp_path / name, "--to", "vw", "--merge", *more)
        assert done.exit_code == 0, done.output
    assert (tmp_path / "a" / "train.vw").read_bytes() == (tmp_path / "b" / "train.vw").read_bytes()


@pytest.mark.parametrize("to", [(), ("--to", "svmlight"), ("--to", "npz")])
def test_formats_without_weights_are_refused_in_one_line(files, tmp_path, to):
    done = encode(files, tmp_path / "out", *to, "--merge")
    assert done.exit_code == 2
    [line] = done.stderr.splitlines()
    assert "has no weights of rows; expected vw or parquet" in line
    assert not (tmp_path / "out").exists()
