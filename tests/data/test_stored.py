import os
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.data import Reader
from chromatic.data.blocks import Blocks
from chromatic.data.limit import MemoryLimit, limited, parse_size
from chromatic.data.stored import parse, read_stored
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
@pytest.mark.parametrize("options", [{}, {"min_count": 3, "dense_threshold": 0.4}, {"keep_names": False}])
def test_what_is_stored_is_what_is_read(tmp_path, name, options):
    path = tmp_path / name
    path.write_text(TEXTS[name])
    options = {**options, "keep_fields": name == "table.csv"}
    expected = Reader().read(path, **options)
    memory = MemoryLimit(1 << 40, tmp_path, tmp_path)
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
    names = expected.vocabulary.names
    assert (data.vocabulary.names.tolist() if names else None) == (names.tolist() if names else None)
    for part in ("indptr", "codes", "dense"):
        assert getattr(rows, part).dtype == getattr(expected.rows, part).dtype
        assert getattr(rows, part).tolist() == getattr(expected.rows, part).tolist()
    assert rows.elided_values == expected.rows.elided_values
    labels = expected.rows.labels
    assert (labels is None and rows.labels is None) or rows.labels.tobytes() == labels.tobytes()


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
    path.write_text(TEXTS["integers.svm"].replace("\n1 ", "\n0 ", 1))
    os.utime(path, ns=(time.time_ns(), time.time_ns() + 5_000_000))
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
