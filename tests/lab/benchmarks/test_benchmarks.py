import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from chromatic.cli.main import app
from chromatic.data import Reader
from chromatic.errors import InputError
from chromatic.graph.pairs import count
from chromatic.lab.benchmarks import contests, data, growth, measure, ours, table, train
from chromatic.lab.benchmarks import spark as on_spark
from chromatic.lab.benchmarks.data import plain, size_of, synthetic, token_lists, write_npm_sample
from chromatic.lab.benchmarks.growth import STAGES, Point, exponent, exponents
from chromatic.lab.benchmarks.measure import Contender, Size, race
from chromatic.lab.benchmarks.peers import sorted_pairs
from chromatic.lab.benchmarks.table import at_least, at_most, balanced_against_first_fit, same_colors


def chromatic(*args, **environment):
    command = [sys.executable, "-m", "chromatic.cli.main", *map(str, args)]
    return subprocess.run(command, capture_output=True, timeout=900, env=os.environ | environment)


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def counted_lines(path, factor):
    return lambda: {"seconds": factor * len(Path(path).read_text().splitlines())}


def missing_package(path):
    raise ImportError("no such package")


def hoarding(path, mb):
    return lambda: np.ones(mb << 17).sum()


@pytest.fixture
def in_this_process(monkeypatch):
    """Contenders that need no process of their own; `test_a_race...` gives them one."""

    @contextmanager
    def child(contender):
        if contender.sample is not None:
            contender.make(contender.sample, *contender.args)()
        run = contender.make(contender.path, *contender.args)
        yield lambda: measure.measured(run)

    def here(function, *given, **named):
        return function(*given, **named)

    monkeypatch.setattr(measure, "_child", child)
    for module in (data, growth, table, train):
        monkeypatch.setattr(module, "in_a_process", here)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return synthetic("kdda", 300, str(tmp_path_factory.mktemp("kdda")), 1)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_law_is_found(power):
    sizes = [1000, 2500, 9000, 70_000]
    assert exponent(sizes, [7 * size**power for size in sizes]) == pytest.approx(power)


def test_exponents_are_of_the_row_of_sizes_and_not_of_the_run_with_one_thread():
    points = [
        Point(Size(n, 10 * n, 80 * n), 2, dict.fromkeys(STAGES, (n**1.5, 3.0 * n))) for n in (1, 2, 4, 8)
    ]
    points.append(Point(Size(8, 80, 640), 1, dict.fromkeys(STAGES, (1e6, 1e6))))
    assert all(pair == pytest.approx((1.5, 1.0)) for pair in exponents(points).values())


def test_a_race_tells_ratios_to_peers_that_do_the_same_and_leaves_out_those_that_cannot_run(tmp_path):
    path = tmp_path / "three"
    path.write_text("a\nb\nc\n")
    said = []
    measured = race(
        [
            Contender("we", counted_lines, str(path), (2,), size=Size(6, 7, 9_000_000)),
            Contender("they", counted_lines, str(path), (8,), peer=True),
            Contender("others", counted_lines, str(path), (1,), peer=True, does="something else"),
            Contender("nobody", missing_package, str(path), peer=True),
        ],
        2,
        said.append,
    )
    assert [one.what for one in measured] == ["we", "they", "others"]
    assert (measured[0].seconds, measured[0].ratios) == (6, {"they": 4.0})
    assert (measured[0].rows_per_second, measured[0].mb_per_second) == (1.0, 1.5)
    assert said == ["left out: nobody (ImportError: no such package)"]


def test_a_contender_of_ours_that_cannot_run_is_an_error():
    with pytest.raises(InputError, match="we: ImportError"):
        race([Contender("we", missing_package, "")], 1, print)


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="needs Linux")
def test_the_memory_of_a_run_is_what_it_takes_at_most():
    [measured] = race([Contender("hoard", hoarding, "", (200,))], 2, print)
    assert 190 < measured.memory_mb < 260


def test_a_command_s_memory_does_not_begin_with_that_of_the_process_that_starts_it(tmp_path, monkeypatch):
    hoard = np.ones(300 << 17)
    seen, status_mb = tmp_path / "seen", ours.status_mb
    os.mkfifo(seen)

    def status(*given):
        """Let the command end when its memory was seen."""
        figure = status_mb(*given)
        if given[0] == "VmHWM" and figure > 50 and not ended:
            ended.append(seen.write_text("seen"))
        return figure

    ended = []
    monkeypatch.setattr(ours, "status_mb", status)
    figures = ours.process([sys.executable, "-c", f"x = bytearray(50 << 20); open({str(seen)!r}).read()"])
    assert 50 < figures["memory_mb"] < 120 and hoard.any()
    with pytest.raises(RuntimeError, match="exit code 3: ouch"):
        ours.process([sys.executable, "-c", "import sys; print('ouch', file=sys.stderr); sys.exit(3)"])


def test_sizes_samples_and_strings_are_of_the_same_rows(small):
    train, test = small.sizes
    text = Path(small.train).read_text()
    assert (train.rows, train.nonzeros, train.bytes) == (300, text.count(":"), len(text))
    assert test.rows == 30
    assert Path(small.strings).read_text().replace(" f", " ") == text
    assert size_of(small.strings).nonzeros == train.nonzeros
    rows, labels = token_lists(small.train, 10)
    assert len(rows) == len(labels) == 10 and sum(map(len, rows)) == text[: text_end(text, 10)].count(":")


def text_end(text, lines):
    return len("\n".join(text.split("\n")[:lines]))


def test_a_compressed_file_is_unpacked_into_the_folder(tmp_path):
    import lzma

    (tmp_path / "a.svm.xz").write_bytes(lzma.compress(b"1 2:1\n"))
    out = plain(str(tmp_path / "a.svm.xz"), str(tmp_path))
    assert Path(out).read_bytes() == b"1 2:1\n" and plain(out, "elsewhere") == out


def test_the_sample_of_names_has_balanced_colors_with_fewer_collisions(tmp_path):
    train, test = write_npm_sample(str(tmp_path))
    collisions, colors = balanced_against_first_fit(train, test)
    assert 0 < collisions < 1 <= colors
    assert same_colors(test)[1]


def test_a_line_of_the_table_is_met_or_missed():
    assert at_least("a", 15, 15.5).line().endswith("15.50x  met")
    assert at_most("a", 15, 15.5, " s", "on less").line().endswith("15.50 s  missed  (on less)")


def test_sorting_all_pairs_gives_the_counted_graph(small):
    rows = Reader().read(small.train, keep_names=False).rows
    pairs = count(rows)
    histogram, degrees = sorted_pairs(rows)
    np.testing.assert_array_equal(pairs.histogram[: len(histogram)], histogram)
    np.testing.assert_array_equal(pairs.degree(1), degrees)


@pytest.mark.slow
def test_training_is_measured_beside_plain_torch_and_by_its_cost(small, in_this_process, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(train, "COST_POWERS", (8,))
    said = []
    kept = train.run(small, 1, said.append)
    assert [record["what"] for record in kept[:3]] == [
        "batches of 256",
        "a DataLoader, batches of 256",
        "all by hand, batches of 256",
    ]
    assert list(kept[0]["ratios"]) == [record["what"] for record in kept[1:3]]
    assert [record["what"] for record in kept[6:]] == [
        f"{encoder} at 2^8, {updates} updates"
        for encoder in ("ft", "cl-ft")
        for updates in ("dense", "lazy")
    ]
    assert all(record["peak_mb"] > 1 and record["parameters"] > 64 for record in kept[6:])


@pytest.mark.slow
def test_spark_and_the_local_fit_give_the_same_columns(spark, small):
    said = []
    kept = on_spark.run(small, said.append)
    assert [record["what"] for record in kept] == ["local", "Spark, 1/4", "Spark, 4/4"]
    for record in kept:
        stages = [record[stage] for stage in on_spark.STAGES.values()]
        assert min(stages) > 0 and sum(stages) <= record["seconds"]
    assert said[-1].split() == ["the", "same", "columns", "yes", "yes"]


@pytest.mark.slow
def test_every_benchmark_runs_and_keeps_a_line_for_each_contender(tmp_path, in_this_process):
    results = tmp_path / "results.jsonl"
    for name in contests.CONTESTS:
        if name == "start":
            continue  # compiles; see below
        call = f"benchmark {name} --rows 300 --runs 1 --results {results}"
        done = CliRunner().invoke(app, call.split())
        assert done.exit_code == 0, done.output
        assert "left out" not in done.output
    kept = lines_of(results)
    assert {line["benchmark"] for line in kept} == set(contests.CONTESTS) - {"start"}
    for line in kept:
        assert line["seconds"] > 0 and line["peak_mb"] >= 0 and line["rows"] > 0 and line["cores"] >= 1
        assert line["versions"]["chromatic"] and line["date"] and (line["peer"] or line["nonzeros"])
    compared = {line["benchmark"] for line in kept if line["ratios"]}
    assert compared == {line["benchmark"] for line in kept}
    job = next(line for line in kept if line["benchmark"] == "job")
    assert job["rows"] == 330 and job["anonymous_mb"] > 0


def test_growth_tells_exponents_draws_and_keeps_every_stage(tmp_path, in_this_process):
    pytest.importorskip("matplotlib")
    results, plot = tmp_path / "results.jsonl", tmp_path / "growth.svg"
    call = f"benchmark growth --rows 1600 --runs 1 --threads 2 --plot {plot} --results {results}"
    done = CliRunner().invoke(app, call.split())
    assert done.exit_code == 0, done.output
    assert "exponent" in done.output and "speed-up" in done.output
    assert plot.read_bytes().startswith(b"<?xml")
    kept = lines_of(results)
    assert [line["what"] for line in kept] == list(STAGES) * 5
    assert [line["rows"] for line in kept[:: len(STAGES)]] == [200, 400, 800, 1600, 1600]
    assert [line["threads"] for line in kept[:: len(STAGES)]] == [2, 2, 2, 2, 1]
    for i in range(0, len(kept), len(STAGES)):
        *stages, total = kept[i : i + len(STAGES)]
        assert total["seconds"] == pytest.approx(sum(line["seconds"] for line in stages))


@pytest.mark.slow
def test_the_table_has_every_line_and_says_where_rows_are_fewer(tmp_path, in_this_process, monkeypatch):
    monkeypatch.setattr(ours, "compiling", ours.starting)  # the test of a warmup compiles
    train, test = write_npm_sample(str(tmp_path))
    os.rename(train, tmp_path / "train.svm")
    os.rename(test, tmp_path / "test.svm")
    said = []
    rows = table.run(300, str(tmp_path), None, 1, said.append)
    assert len(rows) == len(said) - 1 == 27
    assert [row.met for row in rows].count(None) == 3
    assert "on 300 rows, not 840,775" in said[1]
    kept = list(table.records(rows))
    assert kept[0]["what"] == rows[0].what and kept[0]["cores"] >= 1
    with pytest.raises(InputError, match=r"has no train\.svm"):
        table.run(300, str(tmp_path / "nowhere"), None, 1, lambda line: None)


def test_after_a_warmup_the_main_way_compiles_nothing(small, tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    done = chromatic("warmup", **cache)
    assert done.returncode == 0 and done.stdout.split()[1:3] == [b"kernels", b"compiled"]
    before = set(Path(cache["NUMBA_CACHE_DIR"]).glob("*.kernel"))
    assert len(before) == int(done.stdout.split()[0])
    for path in (small.train, small.strings):
        for encoding in ("submodular", "target", "frequency"):
            args = ["--test", path, "--encoding", encoding, "-o", tmp_path / "out"]
            assert chromatic("encode", path, *args, **cache).returncode == 0
    assert set(Path(cache["NUMBA_CACHE_DIR"]).glob("*.kernel")) == before


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("nothing", "there is no benchmark 'nothing'; expected one of read, "),
        ("read --train a", "one of --train and --test is given"),
        ("read --train a --test b", "no such file"),
        ("read --runs 0", "the runs are 0"),
        ("table --rows 0", "the rows are 0"),
        ("shapes --rows 1", "the rows are 1; expected 8 or more"),
        ("growth --rows 10 --plot growth.txt", "expected .svg or .png"),
    ],
)
def test_what_is_wrong_with_the_call_is_said(call, told):
    done = CliRunner().invoke(app, ["benchmark", *call.split()])
    assert done.exit_code == 2 and told in done.output
