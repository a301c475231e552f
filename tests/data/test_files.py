import bz2
import gzip
import io
import lzma
import os
import zipfile

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from helpers import assert_same_rows, assert_same_vocabulary
from hypothesis import given
from hypothesis import strategies as st

from chromatic._files import replacing
from chromatic.data import Reader, write
from chromatic.data.scan import PADDING
from chromatic.data.source import chunks_of_lines, format_of
from chromatic.errors import InputError

TEXT = b"1 1:1 2:0.5 9:1\n0 2:1\n1\n0 2:3 7:1\n"


def zstd(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(data)
    return sink.getvalue().to_pybytes()


COMPRESS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


def assert_same_data(one, two):
    assert_same_rows(one.rows, two.rows)
    assert_same_vocabulary(one.vocabulary, two.vocabulary)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_files_are_read_whatever_their_name(tmp_path, suffix):
    (tmp_path / "plain.svm").write_bytes(TEXT)
    (tmp_path / f"x.svm{suffix}").write_bytes(COMPRESS[suffix](TEXT))
    (tmp_path / "no-suffix").write_bytes(COMPRESS[suffix](TEXT))
    expected = Reader().read(tmp_path / "plain.svm")
    assert_same_data(Reader().read(tmp_path / f"x.svm{suffix}"), expected)
    assert_same_data(Reader().read(str(tmp_path / "no-suffix")), expected)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("damage", ["truncated", "flipped"])
def test_a_damaged_archive_is_refused(tmp_path, suffix, damage):
    text = b"".join(b"1 %d:1\n" % (i * 7919 % 100_000) for i in range(20_000))
    data = bytearray(COMPRESS[suffix](text))
    data = data[: len(data) // 2] if damage == "truncated" else data
    if damage == "flipped":
        for i in range(len(data) // 3, len(data) // 3 + 40):
            data[i] ^= 0xFF
    path = tmp_path / f"x.svm{suffix}"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"x\.svm"):
        Reader().read(path)


def test_several_files_are_one_data_set_in_order(tmp_path):
    (tmp_path / "all.svm").write_bytes(TEXT)
    head, tail = TEXT.split(b"\n", 1)
    (tmp_path / "1.svm").write_bytes(head)  # no newline at the end
    (tmp_path / "2.svm.gz").write_bytes(gzip.compress(tail))
    both = [tmp_path / "1.svm", tmp_path / "2.svm.gz"]
    assert_same_data(Reader().read(both), Reader().read(tmp_path / "all.svm"))


@pytest.mark.parametrize(
    ("name", "head", "format"),
    [
        ("a.SVM", b"", "svmlight"),
        ("a.libsvm.gz", b"", "svmlight"),
        ("a.b.vw.zst", b"", "vw"),
        ("a.txt", b"1 5:1 7\n", "svmlight"),
        ("a", b"# x\n\n1 red green\n", "tokens"),
        ("a", b"1 |a b\n", "vw"),
        ("a", b"|a b\n", "vw"),
        ("a", b"1 a|b c\n", "vw"),
        ("a", b"PAR1", "parquet"),
        ("a", b"ARROW1", "arrow"),
        ("a", b"PK\x03\x04", "npz"),
        ("a", b"", "svmlight"),
    ],
)
def test_formats_are_told_by_suffix_and_content(name, head, format):
    assert format_of(name, head) == format


values = st.sampled_from([1.0, 1.0, 2.0, 0.25, -1e300])
integer_rows = st.lists(st.dictionaries(st.integers(0, 50) | st.just(2**32 - 1), values), min_size=1)
safe = st.text('abcé:^=%"\\', min_size=1, max_size=4).filter(lambda name: not name.startswith("qid"))
string_rows = st.lists(st.dictionaries(safe, values), min_size=1).filter(lambda rows: any(rows))


@pytest.mark.parametrize("suffix", ["svm", "svm.gz", "vw", "parquet", "npz", "svm.zst"])
@given(rows=integer_rows | string_rows, labels=st.lists(st.sampled_from([0.0, 1.0, -2.5]), min_size=50))
def test_a_round_trip_returns_the_same_rows(tmp_path_factory, suffix, rows, labels):
    folder = tmp_path_factory.mktemp("round-trip")
    lines = b""
    for row, label in zip(rows, labels * len(rows), strict=False):
        if suffix == "vw":
            row = {
                name.replace(":", "") + "x" if isinstance(name, str) else name: v for name, v in row.items()
            }
        words = [f"{label!r}", *(f"{name}:{value!r}" for name, value in row.items())]
        lines += " ".join(words).encode() + b"\n"
    (folder / "in.svm").write_bytes(lines)
    first = Reader(chunk_size=64).batches(folder / "in.svm")
    write(first, folder / f"out.{suffix}", threads=2)
    assert_same_data(Reader().read(folder / f"out.{suffix}"), Reader().read(folder / "in.svm"))
    assert sorted(os.listdir(folder)) == ["in.svm", f"out.{suffix}"]


@pytest.mark.parametrize("suffix", ["svm", "vw", "parquet", "npz"])
def test_a_table_with_numbers_survives_a_round_trip(tmp_path, suffix):
    table = pa.table({"label": [1, 0, 1], "f": [["a", "b"], ["b"], []], "price": [0.5, 2, 3]})
    write(Reader().batches(table), tmp_path / f"x.{suffix}")
    data = Reader().read(tmp_path / f"x.{suffix}", dense_threshold=0.9)
    assert data.vocabulary.dense_names == (b"price",)
    assert_same_data(data, Reader().read(table, dense_threshold=0.9))


def test_written_features_are_ascending_and_repeatable(tmp_path):
    write(Reader().batches([[7, 3, 5], {9: 2.5, 1: 1}]), tmp_path / "x.svm")
    assert (tmp_path / "x.svm").read_bytes() == b"0 3:1 5:1 7:1\n0 1:1 9:2.5\n"
    for suffix in ("npz", "parquet", "svm.gz"):
        write(Reader().batches([["a", "b"]]), tmp_path / f"1.{suffix}")
        write(Reader().batches([["a", "b"]]), tmp_path / f"2.{suffix}")
        assert (tmp_path / f"1.{suffix}").read_bytes() == (tmp_path / f"2.{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", ["svm", "vw", "parquet", "npz"])
@pytest.mark.parametrize("kind", ["", "f"])
def test_threads_and_chunks_do_not_change_a_byte(tmp_path, monkeypatch, suffix, kind):
    monkeypatch.setattr("chromatic.data.writers.ROWS_PER_GROUP", 30)
    lines = [f"{i % 2} " + " ".join(f"{kind}{i * j % 97 + j}:{j}" for j in range(1, 9)) for i in range(200)]
    (tmp_path / "in.svm").write_text("\n".join(lines))
    written = set()
    for i, (size, threads) in enumerate([(64, 1), (500, 2), (1 << 20, 2)]):
        batches = Reader(chunk_size=size, n_jobs=threads).batches(tmp_path / "in.svm")
        write(batches, tmp_path / f"{i}.{suffix}", threads=threads)
        written.add((tmp_path / f"{i}.{suffix}").read_bytes())
    assert len(written) == 1


@pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.csc_matrix])
def test_npz_files_of_any_layout_are_read(tmp_path, layout):
    dense = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    sp.save_npz(tmp_path / "x.npz", layout(dense))
    assert_same_data(Reader().read(tmp_path / "x.npz"), Reader().read(dense))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"labels": np.ones(1)}, "its labels are not 3 finite numbers"),
        ({"labels": np.ones((3, 1))}, "its labels are not 3"),
        ({"labels": np.array([1, 0, np.nan])}, "its labels are not 3"),
        ({"labels": np.array(["a"] * 3)}, "its labels are not 3"),
        ({"indices": np.array([99, 0, 1])}, "is no npz file of a sparse matrix"),
        ({"indptr": np.array([0, 1, 99, 3])}, "is no npz file of a sparse matrix"),
        ({"name_offsets": np.array([0, 1, 2])}, "its names are not 3 strings"),
        ({"name_offsets": np.array([0, 1, 2, 99])}, "its names are not 3"),
        ({"name_offsets": np.array([0, 2, 1, 3])}, "its names are not 3"),
        ({"name_bytes": np.frombuffer(b"aab", np.uint8)}, "two of its columns have one name"),
    ],
)
def test_npz_files_are_checked(tmp_path, arrays, message):
    write(Reader().batches([["a"], ["b"], ["c"]]), tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as good:
        np.savez(tmp_path / "y.npz", **{**good, **arrays})
    with pytest.raises(InputError, match=message):
        Reader().read(tmp_path / "y.npz")


def test_files_that_do_not_go_together_are_refused(tmp_path):
    (tmp_path / "a.svm").write_bytes(b"1 a\n")
    (tmp_path / "b.vw").write_bytes(b"|a b\n")
    (tmp_path / "c.csv").write_bytes(b"label,x\n1,2\n")
    (tmp_path / "d.csv").write_bytes(b"label,y\n1,3\n")
    with pytest.raises(InputError, match=r"b\.vw: some rows have a label and some have none"):
        Reader().batches([tmp_path / "a.svm", tmp_path / "b.vw"])
    with pytest.raises(InputError, match=r"c\.csv: there is no column 'y', which the rows before have"):
        Reader().batches([tmp_path / "c.csv", tmp_path / "d.csv"])


def test_a_numeric_column_and_a_feature_of_one_name_are_refused_in_text(tmp_path):
    batches = Reader().batches(pa.table({"a": ["x"], "a=x": [7.0]}))
    with pytest.raises(InputError, match="a numeric column and a feature have one name"):
        write(batches, tmp_path / "x.svm")


def test_the_text_na_is_a_value_and_no_missing_cell(tmp_path):
    (tmp_path / "x.csv").write_text("label,c,n\n1,NA,NA\n0,US,3\n1,,4\n")
    data = Reader().read(tmp_path / "x.csv", dense_threshold=2)
    assert set(data.vocabulary.names.tolist()) == {b"c=NA", b"c=US"}
    assert data.vocabulary.dense_names == (b"n", b"n is missing")
    assert data.rows.dense.tolist() == [[3.5, 1], [3, 0], [4, 0]]


def test_scipy_reads_our_npz(tmp_path):
    write(Reader().batches([{1: 2.0}, {0: 1}]), tmp_path / "x.npz")
    np.testing.assert_array_equal(sp.load_npz(tmp_path / "x.npz").toarray(), [[0, 2], [1, 0]])


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("a b", "svm"),
        ("#a", "svm"),
        ("qid", "svm"),
        ("qid:2", "svm"),
        ("", "svm"),
        ("a|b", "vw"),
        ("a:1", "vw"),
    ],
)
def test_names_that_text_cannot_hold_are_refused(tmp_path, name, suffix):
    with pytest.raises(InputError, match="would not be read back"):
        write(Reader().batches([["fine", name]]), tmp_path / f"x.{suffix}")
    assert os.listdir(tmp_path) == []
    write(Reader().batches([["fine", name]]), tmp_path / "x.parquet")
    assert set(Reader().read(tmp_path / "x.parquet", dense_threshold=2).vocabulary.names.tolist()) == {
        b"fine",
        name.encode(),
    }


def test_features_that_begin_like_a_query_id_are_features(tmp_path):
    write(Reader().batches([["qidai", "qi"]]), tmp_path / "x.svm")
    assert set(Reader().read(tmp_path / "x.svm", dense_threshold=2).vocabulary.names.tolist()) == {
        b"qidai",
        b"qi",
    }


def test_bytes_that_are_no_text_survive_in_parquet(tmp_path):
    write(Reader().batches([[b"\xff\xfe", b"a"]]), tmp_path / "x.parquet")
    names = Reader().read(tmp_path / "x.parquet", dense_threshold=2).vocabulary.names
    assert set(names.tolist()) == {b"\xff\xfe", b"a"}


def test_a_file_takes_its_name_only_when_it_is_whole(tmp_path):
    target = tmp_path / "x"
    target.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), replacing(target) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert (target.read_bytes(), os.listdir(tmp_path)) == (b"old", ["x"])


def test_csv_and_tsv_have_typed_columns(tmp_path):
    (tmp_path / "x.csv").write_text("label,city,price\n1,Rome,2.5\n0,,\n")
    (tmp_path / "x.tsv").write_text("label\tcity\tprice\n1\tRome\t2.5\n0\t\t\n")
    for name in ("x.csv", "x.tsv"):
        data = Reader().read(tmp_path / name, dense_threshold=2)
        assert data.vocabulary.names.tolist() == [b"city=Rome"]
        assert data.rows.dense.tolist() == [[2.5, 0], [2.5, 1]]


def test_bad_lines_of_csv_are_skipped_and_counted(tmp_path):
    (tmp_path / "x.csv").write_text("label,city\n1,Rome\n0\n0,a,b\n1,Oslo\n")
    data = Reader(on_bad_line="skip").read(tmp_path / "x.csv")
    assert (data.rows.n_rows, data.left_out.skipped_lines) == (2, 2)


def test_criteos_layout(tmp_path):
    rows = [["1", *map(str, range(13)), *(f"{i:08x}" for i in range(26))], ["0", *[""] * 39]]
    (tmp_path / "day").write_text("".join("\t".join(row) + "\n" for row in rows))
    data = Reader(format="criteo").read(tmp_path / "day", keep_fields=True)
    names = [name for i in range(1, 14) for name in (b"I%d" % i, b"I%d is missing" % i)]
    assert data.vocabulary.dense_names == tuple(names)
    assert data.rows.dense[0, ::2].tolist() == list(range(13))
    assert data.rows.dense[:, 1::2].tolist() == [[0] * 13, [1] * 13]
    assert sorted(data.vocabulary.fields.tolist()) == list(range(26))
    assert data.vocabulary.names[int(np.argmin(data.vocabulary.fields))] == b"C1=00000000"


def test_arrow_files_and_streams(tmp_path):
    table = pa.table({"label": [1, 0], "f": [["a"], ["b"]]})
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as out:
        out.write_table(table)
    with pa.OSFile(str(tmp_path / "y.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as out:
        out.write_table(table)
    (tmp_path / "z.arrow.gz").write_bytes(gzip.compress((tmp_path / "x.arrow").read_bytes()))
    for name in ("x.arrow", "y.arrow", "z.arrow.gz"):
        assert_same_data(Reader().read(tmp_path / name), Reader().read(table))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.svm", b"", "is empty; expected at least one row"),
        ("x.svm", b"# only\n\n", "is empty"),
        ("x.svm.gz", gzip.compress(b"", mtime=0), "is empty"),
        ("x.parquet", b"PAR1 but no more", "is not well-formed parquet"),
        ("x.arrow", b"ARROW1 but no more", "is not well-formed arrow"),
        ("x.csv", b"label,a\n1\n", "is not well-formed csv"),
        ("x.npz", b"PK no zip", "is no npz file of a sparse matrix"),
        ("x.vw", b"1 |a b\n|a c\n", "some rows have a label"),
    ],
)
def test_bad_files_are_told_with_their_name(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as error:
        Reader().read(tmp_path / name)
    assert name in str(error.value) and message in str(error.value) and "\n" not in str(error.value)


def test_vowpal_wabbit_rows_may_have_no_labels(tmp_path):
    (tmp_path / "x.vw").write_bytes(b"|a b\n| c\n")
    batches = Reader().batches(tmp_path / "x.vw")
    assert batches[0].labels is None
    write(batches, tmp_path / "y.vw")
    assert (tmp_path / "y.vw").read_bytes() == b" | a^b\n | c\n"


def test_progress_is_told_in_bytes_of_the_file(tmp_path):
    data = gzip.compress(TEXT)
    (tmp_path / "x.svm.gz").write_bytes(data)
    told = []
    Reader(progress=told.append).read(tmp_path / "x.svm.gz")
    assert sum(told) == len(data)


def test_a_stream_that_gives_a_byte_at_a_time_is_read_whole():
    class Slow(io.BytesIO):
        def readinto(self, buffer):
            return super().readinto(memoryview(buffer)[:1])

    chunks = list(chunks_of_lines("slow", io.BufferedReader(Slow(TEXT), 16), 64))
    assert b"".join(bytes(chunk.text[:-PADDING]) for chunk in chunks) == TEXT


def ipc_of(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def test_arrow_files_whose_offsets_or_names_are_damaged_are_refused(tmp_path):
    offsets = pa.py_buffer(np.array([0, 2, 1000, 3], np.int32).tobytes())
    lists = pa.ListArray.from_buffers(
        pa.list_(pa.int32()), 3, [None, offsets], children=[pa.array([1, 2, 3], pa.int32())]
    )
    good = ipc_of(pa.table({"nameabc": ["x"], "label": [1]}))
    for i, content in enumerate(
        [ipc_of(pa.table({"f": lists})), good.replace(b"nameabc", b"nam\xffabc"[:7])]
    ):
        path = tmp_path / f"{i}.arrow"
        path.write_bytes(content)
        with pytest.raises(InputError, match="is not well-formed arrow"):
            Reader().batches(path)


def test_a_bad_line_of_csv_that_is_no_text_is_told_in_one_line(tmp_path, capfd):
    path = tmp_path / "x.csv"
    path.write_bytes(b"label,a\n1,x\n0,y,\xff\n")
    with pytest.raises(InputError, match="Expected 2 columns, got 3"):
        Reader().batches(path)
    assert capfd.readouterr().err == ""


def test_npz_members_with_headers_of_nonsense_are_refused(tmp_path):
    path = tmp_path / "x.npz"
    sp.save_npz(path, sp.eye(3, format="csr"), compressed=False)
    for bad in (b"(3,{", b"(3,(", b"(3, "):
        (tmp_path / "bad.npz").write_bytes(b"")
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "bad.npz", "w") as new:
            for name in old.namelist():
                new.writestr(name, old.read(name).replace(b"(3,)", bad))
        with pytest.raises(InputError, match="is no npz file of a sparse matrix"):
            Reader().batches(tmp_path / "bad.npz")
