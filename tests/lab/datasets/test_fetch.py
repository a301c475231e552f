import bz2
import hashlib
import io
import lzma
import math
import tarfile
from dataclasses import replace

import pytest
from server import serving

from chromatic.data import Reader
from chromatic.data.source import opened
from chromatic.errors import InputError
from chromatic.lab.datasets import download, fetch
from chromatic.lab.datasets.registry import DATASETS, File, data_set_of
from chromatic.lab.datasets.synthetic import shape_of, text

pytest.importorskip("pooch")

KDDA = DATASETS["kdda"]


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "PAUSE", 0.0)
    monkeypatch.setattr(download, "BLOCK", 500)
    monkeypatch.setenv("CHROMATIC_DATA", str(tmp_path / "cache"))
    with serving() as server:
        monkeypatch.setenv("CHROMATIC_DATA_URL", server.url)
        yield server


def rows(shape, count, first=0):
    return b"".join(text(shape_of(shape), count, first))


@pytest.fixture
def kdda(server):
    server.files = {
        "kdda.bz2": bz2.compress(rows("kdda", 400)),
        "kdda.t.bz2": bz2.compress(rows("kdda", 50, 400)),
    }
    return server


def content(path):
    with opened(path) as file:
        return file.read()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_set_of_two_files_is_read_as_it_came(kdda, tmp_path):
    assert fetch.cached(KDDA) is None
    paths = fetch.get(KDDA)
    assert fetch.cached(KDDA) == paths
    assert Reader().read(paths.train).rows.n_rows == 400
    assert Reader().read(paths.test).rows.n_rows == 50
    folder = tmp_path / "cache" / "kdda"
    assert names(folder) == ["kdda.bz2", "kdda.bz2.sha256", "kdda.t.bz2", "kdda.t.bz2.sha256"]
    known = hashlib.sha256(kdda.files["kdda.bz2"]).hexdigest()
    assert (folder / "kdda.bz2.sha256").read_text() == f"{known}  kdda.bz2\n"


def test_what_is_there_is_not_asked_for_again(kdda):
    first = fetch.get(KDDA)
    kdda.asked.clear()
    assert fetch.get(KDDA) == first
    assert kdda.asked == []


def test_a_cut_download_goes_on_in_the_same_call(kdda):
    data = kdda.files["kdda.bz2"]
    kdda.cuts = [1000, 2000]
    paths = fetch.get(KDDA)
    assert content(paths.train) == rows("kdda", 400)
    asked = [wanted for name, wanted in kdda.asked if name == "kdda.bz2"]
    assert asked == [None, "bytes=1000-", "bytes=3000-"] and len(data) > 3000


def test_a_cut_download_goes_on_in_the_next_call(kdda, tmp_path):
    kdda.cuts = [1000] + [0] * download.ATTEMPTS
    with pytest.raises(ConnectionError, match=r"stopped at 1,000 bytes .* run the command again"):
        fetch.get(KDDA)
    assert "kdda.bz2" not in names(tmp_path / "cache" / "kdda")
    assert fetch.cached(KDDA) is None
    kdda.asked.clear()
    assert content(fetch.get(KDDA).train) == rows("kdda", 400)
    assert kdda.asked[0] == ("kdda.bz2", "bytes=1000-")


@pytest.mark.parametrize("why", ["another file", "no tag", "no ranges"])
def test_a_download_begins_anew_where_it_cannot_go_on(kdda, why):
    kdda.sends_tag = why != "no tag"
    kdda.takes_ranges = why != "no ranges"
    kdda.cuts = [1000] + [0] * download.ATTEMPTS
    with pytest.raises(ConnectionError):
        fetch.get(KDDA)
    if why == "another file":
        kdda.files["kdda.bz2"] = bz2.compress(rows("kdda", 300, 7))
    assert content(fetch.get(KDDA).train) == bz2.decompress(kdda.files["kdda.bz2"])


def test_a_part_that_is_whole_needs_no_more(kdda, tmp_path):
    data = kdda.files["kdda.bz2"]
    kdda.cuts = [len(data) - 1] + [0] * download.ATTEMPTS
    with pytest.raises(ConnectionError):
        fetch.get(KDDA)
    part = tmp_path / "cache" / "kdda" / "kdda.bz2.part"
    part.write_bytes(data)  # the process was ended between the last byte and the renaming
    assert content(fetch.get(KDDA).train) == rows("kdda", 400)


def corrupt(data):
    return data[:900] + bytes([data[900] ^ 1]) + data[901:]


def test_a_corrupted_file_is_refused_by_its_published_checksum(kdda, tmp_path):
    known = hashlib.sha256(kdda.files["kdda.bz2"]).hexdigest()
    published = replace(KDDA, files=(File(("kdda.bz2",), known), KDDA.files[1]))
    right = kdda.files["kdda.bz2"]
    kdda.files["kdda.bz2"] = corrupt(right)
    with pytest.raises(InputError, match=f"has not the SHA-256 {known} and was thrown away"):
        fetch.get(published)
    assert names(tmp_path / "cache" / "kdda") == []
    kdda.files["kdda.bz2"] = right
    assert content(fetch.get(published).train) == rows("kdda", 400)
    assert "kdda.bz2.sha256" not in names(tmp_path / "cache" / "kdda")


def test_without_a_published_checksum_a_damaged_archive_is_refused(kdda, tmp_path):
    kdda.files["kdda.bz2"] = corrupt(kdda.files["kdda.bz2"])
    with pytest.raises(InputError, match="damaged and was thrown away"):
        fetch.get(KDDA)
    assert names(tmp_path / "cache" / "kdda") == []


def test_the_checksum_of_the_first_download_holds_from_then_on(kdda, tmp_path, caplog):
    paths = fetch.get(KDDA)
    assert "no checksum is published" in caplog.text
    with open(paths.train, "r+b") as file:
        file.write(b"????")
    assert content(fetch.get(KDDA).train) == rows("kdda", 400)
    assert "differs from its checksum; getting it again" in caplog.text
    with open(paths.train, "r+b") as file:
        file.write(b"????")
    kdda.files["kdda.bz2"] = bz2.compress(rows("kdda", 300, 7))
    with pytest.raises(InputError, match=r"delete .*kdda.bz2.sha256 if the file was meant to change"):
        fetch.get(KDDA)


def test_a_file_may_have_another_name(server):
    server.files = {
        "kdd12.tr.bz2": bz2.compress(rows("kdd12", 100)),
        "kdd12.val.xz": lzma.compress(rows("kdd12", 20, 100)),
    }
    paths = fetch.get(DATASETS["kdd12"])
    assert (content(paths.train), content(paths.test)) == (rows("kdd12", 100), rows("kdd12", 20, 100))
    assert fetch.get(DATASETS["kdd12"]) == fetch.cached(DATASETS["kdd12"]) == paths


def test_a_file_that_is_nowhere_is_said(server):
    with pytest.raises(InputError, match=r"the server does not have it; see https://.*CHROMATIC_DATA_URL"):
        fetch.get(KDDA)


@pytest.mark.parametrize("ending", [b"\n", b""])
def test_url_is_split_in_time(server, ending):
    lines = rows("url", 100)[:-1] + ending
    server.files = {"url_combined.bz2": bz2.compress(lines)}
    paths = fetch.get(DATASETS["url"])
    assert (content(paths.train), content(paths.test)) == (rows("url", 70), rows("url", 30, 70))
    server.files["url_combined.bz2"] = b""
    assert fetch.get(DATASETS["url"]) == fetch.cached(DATASETS["url"]) == paths


def test_the_papers_split_of_url_has_the_papers_rows():
    url = data_set_of("url")
    assert round(url.share * (url.train_rows + url.test_rows)) == url.train_rows


def criteo_archive(n):
    line = b"%d\t%d\t-2\t" + b"\t7" * 10 + b"\tcafe" + b"\t%x" * 25 + b"\n"
    lines = b"".join(line % (i % 2, i, *[i] * 25) for i in range(n))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, data in (("readme.txt", b"hello\n"), ("dac/train.txt", lines)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def test_criteo_is_split_by_number_and_its_counts_become_logarithms(server):
    criteo = replace(DATASETS["criteo"], first_rows=40)
    server.files = {criteo.files[0].names[0]: criteo_archive(50)}
    paths = fetch.get(criteo)
    train, test = (Reader("criteo").read(path) for path in (paths.train, paths.test))
    assert (train.rows.n_rows, test.rows.n_rows) == (40, 10)
    first = content(paths.test).split(b"\n")[0].split(b"\t")
    assert first[0] == b"0" and first[3] == b"" and first[14] == b"cafe" and first[15:] == [b"28"] * 25
    expected = [math.log(41), -math.log(3), math.log(8)]
    assert [float(first[i]) for i in (1, 2, 4)] == pytest.approx(expected, abs=1e-6)


def test_a_set_with_too_few_rows_is_refused(server, tmp_path):
    server.files = {DATASETS["criteo"].files[0].names[0]: criteo_archive(50)}
    with pytest.raises(InputError, match="has 50 rows; expected more than 40,000,000"):
        fetch.get(DATASETS["criteo"])
    assert not [name for name in names(tmp_path / "cache" / "criteo") if name.startswith(("train", "test"))]


def test_what_is_not_criteos_archive_is_refused(server):
    server.files = {DATASETS["criteo"].files[0].names[0]: b"<html>moved</html>"}
    with pytest.raises(InputError, match="is not Criteo's archive"):
        fetch.get(DATASETS["criteo"])


def test_a_cache_folder_that_cannot_be_written_is_said(kdda, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CHROMATIC_DATA", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"cannot write to the cache folder .* set CHROMATIC_DATA"):
        fetch.get(KDDA)
