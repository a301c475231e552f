import bz2
import json
import re
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from chromatic.cli.main import app
from chromatic.data.limit import MemoryLimit, limited
from chromatic.data.reader import Reader
from chromatic.errors import InputError
from chromatic.lab.datasets.synthetic import make, shape_of
from chromatic.lab.experiments import (
    cells,
    fig_linear,
    fig_split,
    fig_submodular,
    registry,
    table_graph,
    table_networks,
)
from chromatic.lab.experiments.data import Running, Source, sources
from chromatic.lab.experiments.frame import Conditions, Findings, reproduce
from chromatic.lab.experiments.paper import SPARSE_SETS, network_loss
from chromatic.lab.experiments.registry import EXPERIMENTS
from chromatic.learn import evaluate, splits
from chromatic.learn.encoders import encode_pair
from chromatic.learn.results import Results

RUN = CliRunner()
READING = Running(Reader())


def refused(*args):
    done = RUN.invoke(app, ["reproduce", *map(str, args)])
    assert done.exit_code == 2, done.output
    [line] = done.stderr.splitlines()
    return line


def fingerprint(path):
    return path.stat().st_mtime_ns, path.stat().st_ino


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    train, test = folder / "clicks.svm", folder / "clicks.t.svm"
    make(shape_of("kdd12"), train, 900)
    make(shape_of("kdd12"), test, 300, 900)
    return str(train), str(test)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_writes_its_files_and_does_not_run_finished_cells_again(name, tmp_path):
    command = ["reproduce", name, "--shape", "kdda", "--rows", "1500", "--out", str(tmp_path)]
    done = RUN.invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    text = (tmp_path / f"{name}.md").read_text()
    assert done.output.startswith(text)
    assert re.search(r"^\| data \|.* paper \| ours \|$", text, re.M)  # no difference: rows are synthetic
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in tables} == {tables[0].count("|")}
    assert "1,500 rows to train on, 375 to test on" in text and "failed" not in text and "nan" not in text
    [results] = tmp_path.glob("*.parquet")
    table = pa.parquet.read_table(results)
    assert table.num_rows and {"data", "name"} <= set(table.column_names)
    if EXPERIMENTS[name].draw is not None:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"</svg>" in (tmp_path / f"{name}.svg").read_bytes()
    before = fingerprint(results)
    again = RUN.invoke(app, command, catch_exceptions=False)
    assert again.output == done.output
    assert fingerprint(results) == before


def test_without_a_name_the_experiments_are_listed():
    done = RUN.invoke(app, ["reproduce"])
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.output.splitlines()] == list(EXPERIMENTS)


def test_wrong_calls_are_refused_in_one_line(tmp_path, files, monkeypatch):
    monkeypatch.setenv("CHROMATIC_DATA", str(tmp_path))
    train, test = files
    assert all(name in refused("fig-linaer") for name in EXPERIMENTS)
    assert "device is 'abacus'" in refused("table-networks", "--shape", "url", "--device", "abacus")
    assert "expected one of url, kdda, kddb, kdd12" in refused("fig-linear", "--shape", "kdd11")
    assert "there is no data set 'kdd11'; expected one of" in refused("fig-linear", "--data", "kdd11")
    assert "expected both" in refused("fig-linear", "--train", train)
    given = ["--train", train, "--test", test]
    assert "exclude each other" in refused("table-graph", *given, "--shape", "url")
    assert "chromatic datasets get url" in refused("table-graph")
    assert "criteo: not in the cache" in refused("fig-split")
    assert "rows are 0" in refused("table-graph", "--shape", "url", "--rows", 0)
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "within"):
        told = refused("table-graph", "--shape", "url", "--out", out)
        assert "expected a folder to write to" in told or "name another with --out" in told


def test_a_figure_without_matplotlib_names_the_extra_and_a_table_needs_none(tmp_path, files, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    given = ["--train", files[0], "--test", files[1], "--out", str(tmp_path / "out")]
    assert "chromatic-learning[report]" in refused("fig-uniform", *given)
    assert not (tmp_path / "out").exists()
    assert RUN.invoke(app, ["reproduce", "table-graph", *given]).exit_code == 0


def test_a_learner_that_is_not_installed_is_named_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vowpalwabbit", None)
    assert "chromatic-learning[vw]" in refused("fig-linear", "--shape", "url", "--out", tmp_path)


def test_a_file_that_holds_no_results_is_refused(tmp_path):
    (tmp_path / "table-graph.parquet").write_text("not this")
    assert "is no Parquet file" in refused(
        "table-graph", *["--shape", "url", "--rows", "50", "--out"], tmp_path
    )


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path, files, monkeypatch):
    experiment, [source] = EXPERIMENTS["fig-submodular"], sources((), files=files)
    measure, measured = cells.measure, []

    def until(most):
        def counting(*args, **options):
            if len(measured) == most:
                raise KeyboardInterrupt
            measured.append(1)
            return measure(*args, **options)

        return counting

    monkeypatch.setattr(cells, "measure", until(4))
    with pytest.raises(KeyboardInterrupt):
        reproduce(experiment, [source], str(tmp_path))
    assert pa.parquet.read_table(tmp_path / "fig-submodular.parquet").num_rows == 4
    monkeypatch.setattr(cells, "measure", until(1000))
    outcome = reproduce(experiment, [source], str(tmp_path))
    assert len(measured) == len(outcome.findings[0].records) == 40


def test_a_cell_that_failed_is_told_and_tried_again(tmp_path, files, monkeypatch):
    monkeypatch.setattr(fig_linear, "BUDGETS", [64, 128])
    experiment, given = EXPERIMENTS["fig-linear"], sources((), files=files)
    evaluate = cells.evaluate

    def failing(*args, **options):
        for result in evaluate(*args, **options):
            yield result | {"error": "no luck", "log_loss": None} if result["encoder"] == "ft" else result

    monkeypatch.setattr(cells, "evaluate", failing)
    assert "| failed |" in reproduce(experiment, given, str(tmp_path)).text
    monkeypatch.setattr(cells, "evaluate", evaluate)
    outcome = reproduce(experiment, given, str(tmp_path))
    assert "failed" not in outcome.text
    assert len(outcome.findings[0].records) == 8


def test_other_data_in_the_same_folder_is_another_cell(tmp_path, files):
    experiment = EXPERIMENTS["table-datasets"]
    for rows in (None, 500, None):
        outcome = reproduce(experiment, sources((), files=files, rows=rows), str(tmp_path))
        assert outcome.findings[0].records[0]["rows"] == (rows or 900)
    assert pa.parquet.read_table(tmp_path / "table-datasets.parquet").num_rows == 2


def test_rows_are_the_last_to_train_on_and_the_first_to_test_on(files):
    [source] = sources((), files=files, rows=200)
    some, all_ = source.load(READING), sources((), files=files)[0].load(READING)
    assert "the last 200 of 900 rows to train on, the first 200 of 300 to test on" in some.about
    assert (some.split.y == all_.split.y[-200:]).all() and (
        some.split.y_test == all_.split.y_test[:200]
    ).all()


def test_the_papers_sets_come_from_the_cache_and_are_held_against_its_numbers(tmp_path, files, monkeypatch):
    monkeypatch.setenv("CHROMATIC_DATA", str(tmp_path))
    (tmp_path / "kdda").mkdir()
    for path, name in zip(files, ("kdda.bz2", "kdda.t.bz2"), strict=True):
        with open(path, "rb") as file:
            (tmp_path / "kdda" / name).write_bytes(bz2.compress(file.read()))
    done = RUN.invoke(app, ["reproduce", "table-datasets", "--out", str(tmp_path / "out")])
    assert "| kdda | rows to train on | 8,407,752 | 900 | -100.0 % |" in done.output
    assert "url" not in done.output


def criteo(path, first, n):
    """Rows in Criteo's layout whose label depends on a count and on two of the fields."""
    lines = []
    for i in range(first, first + n):
        fields = [f"{(i * (j + 3) ** 2 >> 2) % (5 + 7 * j):08x}" for j in range(26)]
        label = int((i % 7 + int(fields[3], 16) + int(fields[9], 16)) % 5 == 0)
        lines.append("\t".join([str(label), *(str(i * j % 7) for j in range(13)), *fields]))
    path.write_bytes(pa.compress("\n".join([*lines, ""]).encode(), "zstd", asbytes=True))


def test_the_variables_of_criteo_are_its_fields(tmp_path, monkeypatch):
    monkeypatch.setenv("CHROMATIC_DATA", str(tmp_path))
    (tmp_path / "criteo").mkdir()
    for name, first, n in (("train.tsv.zst", 0, 2000), ("test.tsv.zst", 2000, 500)):
        criteo(tmp_path / "criteo" / name, first, n)
    [source] = sources(fig_submodular.EXPERIMENT.sets)
    data = source.load(READING)
    settings = cells.few_variables(data, 100)
    assert settings.coloring == "fields" and settings.budget == 113
    pair = data.split.fitted(settings)
    assert pair.train.n_columns == 113
    assert data.split.fitted(cells.few_variables(data, 32)).train.n_columns == 45
    monkeypatch.setattr(fig_submodular, "BUDGETS", [100, 200])
    outcome = reproduce(fig_submodular.EXPERIMENT, [source], str(tmp_path / "out"))
    assert {record["columns"] for record in outcome.findings[0].records} == {113, 213}


def test_estimating_on_the_rows_that_train_looks_better_in_training_and_is_worse(
    tmp_path, files, monkeypatch
):
    monkeypatch.setattr(fig_split, "BUDGETS", [256])
    [findings] = reproduce(fig_split.EXPERIMENT, sources((), files=files), str(tmp_path)).findings
    assert {record["quantizer"] for record in findings.records} == {"sort"}
    assert {record["learner"] for record in findings.records} == {"vw"}
    none, split, crossfit = findings.records
    assert none["train_log_loss"] < min(split["train_log_loss"], crossfit["train_log_loss"])
    assert none["log_loss"] > max(split["log_loss"], crossfit["log_loss"])


def test_columns_needed_are_read_from_the_first_budget_that_reaches_the_loss():
    findings = Findings(
        "some",
        None,
        "",
        [
            {"encoder": encoder, "budget": budget, "log_loss": loss, "error": None}
            for encoder, losses in {
                "ft": (0.6, 0.4, 0.5),
                "ht": (0.6, 0.6, 0.6),
                "cl-sm-paper": (0.5, 0.4, 0.4),
                "cl-sm": (0.7, 0.4, 0.4),
            }.items()
            for budget, loss in zip((1024, 4096, 16384), losses, strict=True)
        ],
    )
    told = [line["ours"] for line in fig_linear.lines(findings)[:4]]
    assert told == [pytest.approx(2), "more than 16", "at most 1", "at most 1"]
    assert "FT needs 2 times the columns (the paper says 10)" in fig_linear.remarks(findings)[0]


def test_the_papers_losses_say_what_its_text_says():
    for learner in ("wd", "lr-net", "fm", "nfm", "deepfm"):
        for name in SPARSE_SETS:
            losses = {
                encoder: network_loss(name, learner, encoder) for encoder in ("FT", "HT", "CL+SM", "CL+TE")
            }
            best = "FT" if (learner, name) == ("deepfm", "url") else "CL+SM"
            assert min(losses, key=losses.get) == best
    improved = [
        n for n in SPARSE_SETS if network_loss(n, "wd", "CL+FT@20") < network_loss(n, "wd", "CL+SM")
    ]
    assert improved == ["url", "kdda"]  # "on 2 of the 4 datasets"
    assert network_loss("criteo", "wd", "FT") is None


def test_what_reading_left_out_is_told(tmp_path, files):
    more = tmp_path / "more.svm"
    with open(files[0]) as file:
        more.write_text("what is this?\n" + file.read())
    command = ["reproduce", "table-graph", "--train", str(more), "--test", files[1], "--out", str(tmp_path)]
    assert RUN.invoke(app, command).exit_code == 2
    assert "1 bad lines skipped" in RUN.invoke(app, [*command, "--on-bad-line", "skip"]).output


def test_several_sets_are_read_one_by_one_and_drawn_side_by_side(tmp_path):
    given = sources((), shapes=["kdd12", "url", "kdda"], rows=60)
    outcome = reproduce(EXPERIMENTS["fig-good-turing"], given, str(tmp_path))
    assert [one.paper for one in outcome.findings] == ["kdd12", "url", "kdda"]
    assert outcome.text.count("| kdd12 (synthetic) |") == outcome.text.count("| url (synthetic) |") > 0


def test_a_set_that_cannot_be_read_leaves_what_was_found_before(tmp_path, files):
    def broken(how):
        raise InputError("nothing to read")

    given = [*sources((), files=files), Source("broken", None, "broken", broken, [])]
    with pytest.raises(InputError, match="nothing to read"):
        reproduce(table_graph.EXPERIMENT, given, str(tmp_path))
    assert "| clicks |" in (tmp_path / "table-graph.md").read_text()
    assert len(Results(str(tmp_path / "table-graph.parquet")).all({"name": "clicks"})) == 1


def test_all_of_them_run_and_those_that_cannot_are_told_at_the_end(tmp_path, files, monkeypatch):
    some = {name: EXPERIMENTS[name] for name in ("table-datasets", "fig-split", "fig-max-degree")}
    monkeypatch.setattr(registry, "EXPERIMENTS", some)
    monkeypatch.setattr(fig_split, "BUDGETS", [100])
    out = tmp_path / "out"
    given = ["reproduce", "all", "--train", files[0], "--test", files[1], "--out", str(out)]
    done = RUN.invoke(app, given, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert {path.stem for path in out.glob("*.md")} == set(some)
    told = json.loads(RUN.invoke(app, [*given, "--json"], catch_exceptions=False).stdout)
    assert [one["experiment"] for one in told] == list(some)

    def failing(data, results):
        raise InputError("no luck")

    some["table-datasets"] = replace(some["table-datasets"], run=failing)
    done = RUN.invoke(app, [*given[:-1], str(tmp_path / "other")])
    assert done.exit_code == 2 and "1 of 3 could not be run; table-datasets: no luck" in done.stderr
    assert (tmp_path / "other" / "fig-max-degree.md").exists()


@pytest.mark.parametrize("name", ["fig-linear", "fig-submodular", "table-graph", "table-networks"])
def test_a_limit_of_memory_gives_the_same_figures(name, tmp_path, files, monkeypatch):
    monkeypatch.setattr(fig_linear, "BUDGETS", [64, 128])
    monkeypatch.setattr(fig_submodular, "BUDGETS", [100])
    monkeypatch.setattr(table_networks, "LEARNERS", {"lr-net": "", "lr": ""})
    monkeypatch.setattr(table_networks, "EMBEDDED", {})
    found = []
    for rows in ({"files": files, "rows": 700}, {"shapes": ["kdd12"], "rows": 500}):
        for memory in ({}, {"memory": "64G", "cache": str(tmp_path / "cache")}):
            out = str(tmp_path / f"{len(found)}")
            [one] = reproduce(EXPERIMENTS[name], sources((), **rows), out, Conditions(**memory)).findings
            found.append([{k: v for k, v in r.items() if "seconds" not in k} for r in one.records])
    assert found[0] == found[1] and found[2] == found[3]
    assert not list((tmp_path / "cache").glob("*.part"))


def test_vowpal_wabbit_learns_from_a_stream_of_the_papers_null_columns(tmp_path, files, monkeypatch):
    [source] = sources((), files=files)
    whole = encode_pair(source.load(READING).split, "cl-sm-paper", 64)
    monkeypatch.setattr(splits, "joined", None)  # nothing is put together
    with limited("64G", str(tmp_path)) as memory:
        split = source.load(Running(Reader(chunk_size=4096), memory=memory)).split
        pair = encode_pair(split, "cl-sm-paper", 64)
        assert len(list(pair.train.pieces())) > 3
        for ours, theirs in ((pair.train, whole.train), (pair.test, whole.test)):
            assert ours.n_columns == theirs.n_columns
            batches = ours.to_batches(np.zeros(ours.n_rows)), theirs.to_batches(np.zeros(ours.n_rows))
            ids, expected = (np.concatenate([batch.ids for batch in each]) for each in batches)
            assert ids.tolist() == expected.tolist()
        assert measured(pair) == measured(whole)
        monkeypatch.setattr(MemoryLimit, "left", lambda _: 1000)
        with pytest.raises(InputError, match="a learner that holds all columns needs"):
            pair.loaded()


def measured(pair):
    figures = evaluate.measure("vw", pair)
    return {name: figures[name] for name in ("log_loss", "train_log_loss", "auc", "parameters")}


def test_what_the_paper_does_not_have_is_not_called_plotted(tmp_path):
    given = sources((), shapes=["kdd12"], rows=80)
    for name, ours in {
        "fig-good-turing": "of known features, estimated",
        "fig-colors-needed": r"held-out features, \\\|W\\\|",
    }.items():
        text = reproduce(EXPERIMENTS[name], given, str(tmp_path)).text
        assert re.search(rf"\| {ours} \| 1 \| - \|", text)
    assert re.search(r"\| largest degree without them, Δ_f \| 1 \| plotted only \|", text)
    uniform = reproduce(EXPERIMENTS["fig-uniform"], given, str(tmp_path)).text
    assert re.search(r"\| balanced \|.* - \| [\d.]+ \|$", uniform, re.M)
    assert re.search(r"\| uniform \|.* plotted only \| [\d.]+ \|$", uniform, re.M)
    assert re.search(r"\|W\| = \d+ features are held out", uniform)


def test_all_networks_of_a_table_have_one_optimizer(tmp_path, files, monkeypatch):
    networks, made = evaluate.Networks, []
    monkeypatch.setattr(cells, "Networks", lambda *given: made.append(given) or networks(*given))
    monkeypatch.setattr(table_networks, "LEARNERS", {"lr-net": "", "wd": ""})
    monkeypatch.setattr(table_networks, "ENCODERS", {"ft": ("FT", "FT")})
    [found] = reproduce(table_networks.EXPERIMENT, sources((), files=files), str(tmp_path)).findings
    assert set(made) == {("cpu", "dense")}
    assert {record["updates"] for record in found.records} == {"dense"} and len(found.records) == 4
