import bz2
import json
import os

import pytest
from commands import chromatic, in_a_process
from server import serving

from chromatic.cli.main import app
from chromatic.lab.datasets.shapes import SHAPES
from chromatic.lab.datasets.synthetic import text


def datasets(*args, **environment):
    return chromatic("datasets", *args, env=environment)


def rows(shape, count, first=0, seed=0):
    return b"".join(text(SHAPES[shape], count, first, seed))


def test_list_tells_of_every_set(tmp_path):
    done = in_a_process("datasets", "list", env=os.environ | {"CHROMATIC_DATA": str(tmp_path)})
    assert done.returncode == 0
    for told in ("url", "kdda", "kddb", "kdd12", "criteo", "license:", "8,407,752 rows", str(tmp_path)):
        assert told in done.stdout.decode()
    listed = json.loads(datasets("list", "--json", CHROMATIC_DATA=str(tmp_path)).stdout)
    assert [one["name"] for one in listed] == ["url", "kdda", "kddb", "kdd12", "criteo"]
    assert all(one["page"].startswith("https://") and one["paths"] is None for one in listed)


def test_get_downloads_and_tells_where(tmp_path):
    pytest.importorskip("pooch")
    with serving() as server:
        server.files = {
            "kdda.bz2": bz2.compress(rows("kdda", 60)),
            "kdda.t.bz2": bz2.compress(rows("kdda", 9, 60)),
        }
        here = {"CHROMATIC_DATA": str(tmp_path), "CHROMATIC_DATA_URL": server.url}
        done = in_a_process("datasets", "get", "kdda", env=os.environ | here)
        assert done.returncode == 0, done.stderr
        assert done.stdout.decode().split() == [
            "train",
            f"{tmp_path}/kdda/kdda.bz2",
            "test",
            f"{tmp_path}/kdda/kdda.t.bz2",
        ]
        assert bz2.decompress((tmp_path / "kdda" / "kdda.bz2").read_bytes()) == rows("kdda", 60)
        again = datasets("get", "kdda", "--json", **here)
        assert json.loads(again.stdout)["test"] == f"{tmp_path}/kdda/kdda.t.bz2" and again.stderr == b""
        assert "is in the cache" in datasets("list", **here).stdout.decode()
        server.files = {"kddb.bz2": b"BZh9 this is no archive", "kddb.t.bz2": b""}
        bad = datasets("get", "kddb", **here)
        assert bad.returncode == 2 and b"damaged and was thrown away" in bad.stderr
        assert os.listdir(tmp_path / "kddb") == []


def test_make_writes_training_and_test_rows(tmp_path):
    out = tmp_path / "made.svm"
    make = "datasets make kdd12 --rows 300 --test-rows 20 --seed 3 --threads 2 -o"
    done = in_a_process(*make.split(), out)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert out.read_bytes() == rows("kdd12", 300, seed=3)
    assert (tmp_path / "made.t.svm").read_bytes() == rows("kdd12", 20, 300, seed=3)
    assert datasets(*["make", "kdd12", "--rows", "5", "-o", "-"]).stdout == rows("kdd12", 5)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["make", "kddc"], "there is no shape 'kddc'; expected one of url, kdda, kddb, kdd12"),
        (["get", "kddc"], "there is no data set 'kddc'; expected one of url, kdda, kddb, kdd12, criteo"),
        (["make", "url", "--rows", "0"], "0 rows from row 0 on are asked for; expected 1 to"),
        (["make", "url", "--rows", "5", "--test-rows", "-1"], "the test rows are -1; expected 0 or more"),
        (["make", "url", "-o", "x.parquet"], "x.parquet: would be svmlight text"),
        (["make", "url", "-o", "no/x.svm"], "there is no folder no"),
        (["make", "url", "-o", "-", "--test-rows", "1"], "test rows need a file of their own"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(args, told, capsys):
    with pytest.raises(SystemExit) as ended:
        app(["datasets", *args], prog_name="chromatic")
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert told in said and said.count("\n") == 1


def test_a_cache_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    done = datasets("get", "kdda", CHROMATIC_DATA=str(tmp_path / "file"))
    assert done.returncode == 2
    assert b"cannot write to the cache folder" in done.stderr and b"set CHROMATIC_DATA" in done.stderr


def test_a_missing_extra_is_named(tmp_path):
    (tmp_path / "pooch.py").write_text("raise ImportError('not here')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "CHROMATIC_DATA": str(tmp_path)}
    done = in_a_process("datasets", "get", "kdda", env=environment)
    assert done.returncode == 2 and b"chromatic-learning[datasets]" in done.stderr
