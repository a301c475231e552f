"""Weights from rows in a file are those from rows in memory."""

import weakref
from dataclasses import replace

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic._threads import one_ahead
from chromatic.data import Reader
from chromatic.data.limit import MemoryLimit
from chromatic.data.stored import StoredRows, read_stored
from chromatic.errors import InputError
from chromatic.fitting import descent, stored
from chromatic.fitting.folds import sums_of_rows
from chromatic.fitting.packed import Block, by_content
from chromatic.fitting.stored import OnDisk
from chromatic.fitting.weighing import Dense, Weighing
from chromatic.fitting.weights import weigh


@pytest.mark.kernels
@given(st.lists(st.sets(st.integers(0, 9)), max_size=8), st.integers(0, 10), st.data())
def test_rows_that_are_taken_have_their_features_of_several_rows(sets, n_several, data):
    codes = np.array([code for row in sets for code in sorted(row)], np.uint32)
    heads = np.empty(len(sets), descent.HEAD)
    descent.place((np.cumsum([0, *map(len, sets)]), codes), n_several, heads)
    some = data.draw(st.lists(st.sampled_from(range(len(sets))))) if sets else []
    dense = np.arange(2 * len(sets), dtype=np.float32).reshape(-1, 2)
    block = Block(heads, codes, dense).taken(np.array(some, np.uint32))
    block = Block.joined([block, block])
    ends = block.heads["start"] + block.heads["several"]
    found = [block.codes[a:b].tolist() for a, b in zip(block.heads["start"], ends, strict=True)]
    assert found == naive.taken_rows(sets, some * 2, n_several)
    assert np.array_equal(block.dense, dense[some * 2])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.booleans()), max_size=20))
def test_rows_are_ordered_by_their_sums_and_equal_ones_by_keys(rows):
    """Sums lie in several parts."""
    sums = np.array([row[0] << 61 for row in rows], np.uint64)
    keys, used = np.array([row[1] for row in rows], int), np.array([row[2] for row in rows], bool)
    expected = sorted((i for i, row in enumerate(rows) if row[2]), key=lambda i: (*rows[i][:2], i))
    assert by_content([keys], sums, used).tolist() == expected


def test_the_next_result_is_made_while_one_is_used_and_no_more_are_held():
    class Result:
        pass

    held = weakref.WeakSet()

    def make(_):
        assert len(held) < 2
        held.add(result := Result())
        return result

    assert len(list(map(type, one_ahead(make, range(5))))) == 5


def test_an_error_ahead_arrives():
    results = one_ahead(lambda x: 1 // x, [1, 1, 0])
    assert [next(results), next(results)] == [1, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)


class Small(MemoryLimit):
    """A limit that leaves so little that chunks are as small as can be, and columns come one at a time."""

    def left(self):
        return 20_000


def write_table(path, n, seed=0):
    """Numbers, categories, ids that come once, equal rows, and labels that come sorted."""
    random = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        city, item, price = random.integers(0, 9), random.zipf(1.5) % 50, random.integers(0, 4) / 7
        label = int(random.random() < 1 / (1 + np.exp(2 - city % 4 - price)))
        lines.append(f"{label},c{city},i{item},{price},{i % 3 / 10},{f'u{i}' if i % 5 == 0 else ''}\n")
    path.write_text("label,city,item,price,more,who\n" + "".join(sorted(lines)))


@pytest.mark.parametrize("binary", [True, False], ids=["binary", "numbers"])
@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
def test_weights_from_disk_are_those_from_memory(tmp_path, monkeypatch, binary, weighted):
    monkeypatch.setattr(stored, "LEAST", 3000)
    write_table(tmp_path / "rows.csv", 4000)
    found = []
    for limit, chunk in ((None, 1 << 22), (Small, 3000), (Small, 20_000), (MemoryLimit, 9000)):
        reader, paths = Reader(chunk_size=chunk), [str(tmp_path / "rows.csv")]
        if limit is None:
            data = reader.read(paths)
        else:
            (tmp_path / f"{chunk}").mkdir()
            room = MemoryLimit(1 << 40, tmp_path / f"{chunk}", tmp_path / f"{chunk}")
            data = read_stored(reader, paths, room)
            memory = limit(1 << 40, room.cache, room.scratch)
            data = replace(data, rows=replace(data.rows, memory=memory))
        task = task_of(data, binary=binary, weighted=weighted)
        assert isinstance(task.rows, StoredRows) == isinstance(task.packed, OnDisk) == (limit is not None)
        assert (len(list(task.packed.visits(0))) > 1) == (limit is Small)
        assert 0 < task.n_several < task.rows.n_features
        weights = weigh(task, 5, threads=2)
        found.append([weights.of_features, weights.by_fold, weights.of_dense])
        found[-1] += [np.array([weights.intercept, weights.strength, weights.held_out_loss])]
    for one in found[1:]:
        for mine, theirs in zip(one, found[0], strict=True):
            assert theirs.any() and mine.tobytes() == theirs.tobytes()


def task_of(data, *, binary, weighted):
    rows, vocabulary = data.rows, data.vocabulary
    sums = sums_of_rows(rows, vocabulary.hashes)
    importance = 0.5 * (sums % 4).astype(float) if weighted else None
    labels = rows.labels if binary else rows.labels * 5 + (sums % 7).astype(float)
    several = int(np.searchsorted(-vocabulary.counts, -1))
    options = {"n_several": several, "binary": binary, "seed": 5, "importance": importance}
    fold = (sums >> np.uint64(20)).astype(np.int64) % 6 - 1
    return Weighing(rows, Dense.of(rows, importance), labels, fold.astype(np.int32), sums, **options)


def test_a_block_that_is_damaged_is_told(tmp_path):
    write_table(tmp_path / "rows.csv", 300)
    data = read_stored(Reader(), [str(tmp_path / "rows.csv")], MemoryLimit(1 << 40, tmp_path, tmp_path))
    task = task_of(data, binary=True, weighted=False)
    _ = task.packed
    with open(tmp_path / "weights", "r+b") as file:
        file.write(b"damaged")
    with pytest.raises(InputError, match="weights: is damaged"):
        weigh(task, 5)
