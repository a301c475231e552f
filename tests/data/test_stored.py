import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.data import Batch, Reader, cells, needed, tables, values
from chromatic.data.blocks import Blocks
from chromatic.data.cached import parse
from chromatic.data.interning import intern
from chromatic.data.limit import Limit, MemoryLimit, limited, parse_size
from chromatic.data.names import Names
from chromatic.data.stored import read_stored
from chromatic.errors import InputError

TEXTS = {
    "integers.svm": "".join(
        f"{i % 2} {i % 7}:1 {10 + i % 11}:{1 + i % 3} {100 + i}:1\n" for i in range(99)
    ),
    "far.svm": "".join(f"{i % 2} {i % 7}:1 {4_000_000_000 + i % 9}:1\n" for i in range(99)),
    "strings.svm": "".join(f"{i % 3} f{i % 7}:1 {i % 5}:0.1 été{i % 40}:1\n" for i in range(99)),
    "mixed.svm": "1 3:1 7:1\n" * 50 + "-0 7:1 x:1\n" * 50,
    "unlabelled.vw": "".join(f"| a{i % 7} b{i % 11}\n" for i in range(99)),
    "table.csv": "label,city,price,n\n"
    + "".join(f"{i % 2},c{i % 30},{i / 8},{'' if i % 4 else i}\n" for i in range(99)),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize(
    "options",
    [{}, {"min_count": 3, "dense_threshold": 0.4}, {"keep_names": False}, {"values": "distinct"}],
    ids=str,
)
def test_what_is_stored_is_what_is_read(tmp_path, name, options):
    path = tmp_path / name
    path.write_text(TEXTS[name])
    options = {**options, "keep_fields": name == "table.csv"}
    expected = Reader().read(path, **options)
    memory = MemoryLimit(1 << 40, tmp_path, tmp_path)
    options["distinct_values"] = options.pop("values", "elide") == "distinct"
    data = read_stored(Reader(chunk_size=300), [str(path)], memory, **options)
    rows = data.rows.load()
    assert data.rows.counts.tolist() == expected.vocabulary.counts.tolist()
    assert data.left_out == expected.left_out
    assert data.vocabulary.fingerprint == expected.vocabulary.fingerprint
    for part in ("counts", "dense_keys", "fields"):
        ours, theirs = getattr(data.vocabulary, part), getattr(expected.vocabulary, part)
        assert (ours is None and theirs is None) or ours.tolist() == theirs.tolist()
    assert data.vocabulary.field_names == expected.vocabulary.field_names
    assert data.vocabulary.dense_names == expected.vocabulary.dense_names
    assert_same_bins(data.vocabulary.bins, expected.vocabulary.bins)
    names = expected.vocabulary.names
    assert (data.vocabulary.names.tolist() if names else None) == (names.tolist() if names else None)
    for part in ("indptr", "codes", "dense"):
        assert getattr(rows, part).dtype == getattr(expected.rows, part).dtype
        assert getattr(rows, part).tolist() == getattr(expected.rows, part).tolist()
    assert rows.elided_values == expected.rows.elided_values
    labels = expected.rows.labels
    assert (labels is None and rows.labels is None) or rows.labels.tobytes() == labels.tobytes()


def assert_same_bins(ours, theirs):
    assert (ours is None) == (theirs is None)
    if ours is not None:
        for part in ("hashes", "starts", "edges", "names"):
            assert getattr(ours, part).tolist() == getattr(theirs, part).tolist()


def test_values_are_cut_some_features_at_a_time_where_memory_holds_no_more(tmp_path, monkeypatch):
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{i % 2} {i % 9}:{i * 7 % 31} {50 + i % 4}:{i % 3}\n" for i in range(600)))
    expected = Reader().read(path, values="distinct", dense_threshold=2)
    some = MemoryLimit(1 << 40, tmp_path, tmp_path)
    asked = []

    def check_values(limit, needed, what, *others):
        if "values" in what:  # what features themselves need is another test's
            check(limit, needed, what, *others)

    check = MemoryLimit.check

    def left(_):
        asked.append(1)
        return 400 * values.BYTES_PER_VALUE  # room for 200 values

    monkeypatch.setattr(MemoryLimit, "left", left)
    monkeypatch.setattr(MemoryLimit, "check", check_values)
    data = read_stored(Reader(chunk_size=300), [str(path)], some, distinct_values=True, dense_threshold=2)
    assert len(asked) > 3
    assert_same_bins(data.vocabulary.bins, expected.vocabulary.bins)
    assert data.rows.load().codes.tolist() == expected.rows.codes.tolist()
    monkeypatch.setattr(MemoryLimit, "left", lambda _: 0)
    with pytest.raises(InputError, match=r"the values of a feature needs .* more --memory"):
        read_stored(Reader(), [str(path)], some, distinct_values=True, dense_threshold=2)


def test_files_are_parsed_once_and_again_when_they_change(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text(TEXTS["integers.svm"])
    cache = tmp_path / "cache"

    def place():
        [folder] = cache.iterdir()
        return folder

    first = parse(Reader(), [str(path)], cache)
    written = os.stat(place() / "batches").st_ino
    again = parse(Reader(), [str(path)], cache)
    assert os.stat(place() / "batches").st_ino == written
    assert [batch.ids.tolist() for batch in again] == [batch.ids.tolist() for batch in first]
    before = path.stat().st_mtime_ns
    path.write_text(TEXTS["integers.svm"].replace("\n1 ", "\n0 ", 1))
    os.utime(path, ns=(before, before + 1))
    assert next(iter(parse(Reader(), [str(path)], cache))).labels.sum() != next(iter(first)).labels.sum()
    assert os.stat(place() / "batches").st_ino != written
    for damage in (lambda file: file.truncate(100), lambda file: None):
        with open(place() / "batches", "r+b") as file:
            damage(file)
        (place() / "index.json").write_text("{}")
        assert parse(Reader(), [str(path)], cache).n_rows == 99
    parse(Reader(features="string"), [str(path)], cache)
    assert len(list(cache.iterdir())) == 2, "another way to read is another entry"


def test_a_bad_line_leaves_nothing_in_the_cache(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 3:1\n1 3:x\n")
    with pytest.raises(InputError, match="line 2"):
        parse(Reader(), [str(path)], tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_scratch_is_gone_afterwards_also_that_of_a_killed_job(tmp_path):
    left, busy = tmp_path / "killed.part", tmp_path / "young.part"
    left.mkdir()
    busy.mkdir()
    (left / "lock").write_text("")
    with limited("1G", str(tmp_path)) as memory:
        (memory.scratch / "rows").write_text("some")
        assert not left.exists() and busy.exists()
        with limited("1G", str(tmp_path)):
            assert memory.scratch.exists(), "another job's folder is left alone"
    assert [path.name for path in tmp_path.iterdir()] == ["young.part"]


@given(st.sampled_from(["K", "M", "G", "kb", "MB", ""]), st.integers(1, 4000))
def test_sizes_are_read_as_written(unit, number):
    factor = 1024 ** ["", "K", "M", "G"].index(unit.upper().removesuffix("B"))
    assert parse_size(f"{number}{unit}") == number * factor


@pytest.mark.parametrize("size", ["", "G", "-1G", "eight", "0", "nan", "1e40"])
def test_sizes_that_are_none_are_refused(size):
    with pytest.raises(InputError, match="such as 500M or 8G"):
        parse_size(size)


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_file_that_is_damaged_while_it_is_used_is_said(tmp_path, damage):
    blocks = Blocks(tmp_path / "blocks")
    blocks.append({"codes": np.arange(1000)})
    with open(tmp_path / "blocks", "r+b") as file:
        if damage == "cut":
            file.truncate(100)
        else:
            file.seek(4000)
            file.write(b"!")
    with pytest.raises(InputError, match="is damaged"):
        Blocks(tmp_path / "blocks", blocks.index).read(0)


def test_a_cache_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="--cache"), limited("1G", str(tmp_path / "file")):
        pass


@pytest.mark.parametrize("sample", [1 << 16, 4096])
def test_distinct_features_are_estimated_by_the_smallest_hashes(monkeypatch, sample):
    monkeypatch.setattr(needed, "SAMPLE", sample)
    draw = np.random.default_rng(0)
    ids = draw.integers(0, 1 << 31, 30_000).astype(np.uint32)
    pieces = [draw.permutation(ids)[:20_000] for _ in range(4)]
    distinct = len(np.unique(np.concatenate(pieces)))
    indptr = np.arange(20_001)
    found, none = needed.estimate([Batch(indptr, piece) for piece in pieces], True)
    assert none == 0
    strings = [Names.of_integers(piece) for piece in pieces]
    interned = [intern(names.data, names.offsets[:-1], names.offsets[1:]) for names in strings]
    batches = [Batch(indptr, numbers, tokens=tokens) for numbers, tokens in interned]
    found_strings, name_bytes = needed.estimate(batches, False)
    digits = len("".join(map(str, np.unique(np.concatenate(pieces)).tolist())))
    if sample > distinct:
        assert (found, found_strings, name_bytes) == (distinct, distinct, digits)
    else:  # three times the error that a sample of this size has
        assert abs(found / distinct - 1.015) < 3 / 64 and abs(found_strings / distinct - 1.015) < 3 / 64
        assert abs(name_bytes / digits - 1.015) < 3 / 64


def test_blocks_that_were_made_with_more_memory_are_made_anew(tmp_path, monkeypatch):
    path, cache = tmp_path / "rows.svm", tmp_path / "cache"
    path.write_text("".join(f"{i % 2} {i}:1 {4_000_000_000 - i}:1\n" for i in range(20_000)))
    ample = Reader(n_jobs=1, memory=Limit(1 << 40))
    parse(ample, [str(path)], cache)
    assert len(parse(ample, [str(path)], cache).blocks) == 1
    monkeypatch.setattr(Limit, "left", lambda self: self.limit)
    scarce = Reader(n_jobs=1, memory=Limit(5 << 20))
    again = parse(scarce, [str(path)], cache)
    assert len(again.blocks) > 1
    assert needed.bytes_of_blocks(again, 1) < 5 << 20


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_line_that_memory_does_not_hold_is_refused_with_a_limit_that_does(tmp_path, monkeypatch, end):
    path = tmp_path / "rows.tokens"
    line = "1 " + " ".join(f"word-{i}" for i in range(50_000))
    path.write_text("0 a b\n" * 100 + line + end)
    monkeypatch.setattr(Limit, "left", lambda self: self.limit)

    def read(limit):
        return list(Reader(n_jobs=1, chunk_size=1 << 16, memory=Limit(limit)).stream([str(path)]))

    with pytest.raises(InputError, match=r"a line of [\d,]+ bytes needs .* such as \d+M") as told:
        read(1 << 20)
    advised = int(str(told.value).rpartition("such as ")[2].removesuffix("M")) << 20
    assert sum(batch.n_rows for batch in read(advised)) == 101


def test_tables_are_read_as_they_come(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"label": [0, 1] * 500, "city": ["a", "b"] * 500}), path)
    monkeypatch.setattr(tables, "ROWS_PER_BATCH", 10)
    made = []
    of_table = cells.batch_of_table
    monkeypatch.setattr(cells, "batch_of_table", lambda *args: made.append(args) or of_table(*args))
    stream = Reader(n_jobs=1).stream([str(path)])
    next(stream)
    assert len(made) < 5
    assert sum(batch.n_rows for batch in stream) == 990


def test_what_is_held_as_a_whole_is_refused_where_it_does_not_fit(tmp_path):
    path = tmp_path / "rows.arrow"
    table = pa.table({"label": [0, 1]})
    with pa.ipc.new_file(path, table.schema) as file:
        file.write(table)
    with pytest.raises(InputError, match="arrow, which is held as a whole, needs 0 MB and"):
        list(Reader(memory=Limit(1)).stream([str(path)]))
