import gzip
import json
import os
import subprocess
import sys

import pytest
from commands import PATIENCE, chromatic, in_a_process

TEXT = b"1 red round\n0 red\n0 long\n1 round green\n"


@pytest.fixture
def fruit(tmp_path):
    path = tmp_path / "fruit.tokens"
    path.write_bytes(TEXT)
    return path


def test_describe_prints_the_figures_of_a_data_set(fruit):
    done = chromatic("describe", fruit, "--json", "--dense-threshold", 0.3)
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "rows": 4,
        "dense_features": 2,
        "sparse_features": 2,
        "avg_nnz": 0.5,
        "max_nnz": 1,
        "positive_rate": 0.5,
        "elided_values": 0,
        "dropped_features": 0,
        "skipped_lines": 0,
    }
    plain = chromatic("describe", fruit).stdout.decode()
    assert "rows" in plain and "sparse features" in plain


def test_graph_prints_colors_and_collisions(fruit, tmp_path):
    (tmp_path / "test.tokens").write_bytes(b"1 red round long new\n0\n")
    args = ["graph", fruit, "--test", tmp_path / "test.tokens", "--json", "--dense-threshold", 2]
    assert json.loads(chromatic(*args).stdout) == {
        "rows": 4,
        "dense_features": 0,
        "sparse_features": 4,
        "avg_nnz": 1.5,
        "max_nnz": 2,
        "pairs_per_row": 0.5,
        "min_edge_count": 1,
        "colors": 2,
        "color_lower_bound": 2,
        "forced": 0,
        "conflicts": 0,
        "test_rows": 2,
        "collisions": 0.5,
        "unseen_features": 1,
    }
    random = chromatic(*args, "--coloring", "random")
    assert json.loads(random.stdout)["colors"] == 4
    assert b"rows drawn alike" in random.stderr


def test_graph_tells_the_guarantees_for_every_k_and_draws_them(clicks):
    pytest.importorskip("matplotlib")
    args = ["graph", "train.tokens", "--test", "test.tokens", "--dense-threshold", 0.5]
    done = chromatic(*args, *["--max-k", "20", "--plots", "figures", "--json"], cwd=clicks)
    assert done.returncode == 0
    told = json.loads(done.stdout)
    edges = 7 * 50 + 50 * 11 + 7 * 11
    assert (told["edges"], told["max_degree"]) == (edges, 50 + 11)
    assert told["avg_degree"] == pytest.approx(2 * edges / 68)
    assert told["pairs_never_seen"] == pytest.approx(1 - edges / (68 * 67 / 2))
    shared = {
        "k",
        "max_degree",
        "avg_degree",
        "good_turing",
        "colors_needed",
        "new_edges",
        "new_edges_seen",
    }
    assert shared <= set(told["per_k"]) and shared | {"held_out"} <= set(told["filtered"])
    for series in (told["per_k"], told["filtered"]):
        assert {len(values) for values in series.values()} == {20}
        assert series["k"] == list(range(1, 21))
    assert told["per_k"]["new_edges"][0] == 0, "the test rows are the training rows"
    assert told["suggested_k"] in told["per_k"]["k"] and told["time_split"]["holds"] in (True, False)
    assert {each["coloring"] for each in told["colorings"]} == {
        "first-fit",
        "balanced",
        "random",
        "uniform",
    }
    assert len(told["figures"]) == 5
    for path in told["figures"]:
        assert (clicks / path).read_bytes().startswith(b"\x89PNG")
    plain = chromatic(*args, "--max-k", 3, cwd=clicks).stdout.decode()
    assert "pairs seen in k rows or more, without the held-out features" in plain


def test_graph_draws_uniform_colorings_and_tells_their_price(clicks):
    args = ["graph", "train.tokens", "--dense-threshold", 0.5, "--coloring", "uniform", "--json"]
    told = [json.loads(chromatic(*args, "--threads", n, cwd=clicks).stdout) for n in (1, 2)]
    for each in told:
        assert each.pop("coloring_seconds") > 0
    assert told[0] == told[1]
    assert told[0]["colors"] > told[0]["held_out"] + 2 * told[0]["max_degree_left"]
    assert {"steps", "updates_at_once", "expected_collisions"} <= set(told[0])


def test_graph_within_a_limit_of_memory_tells_the_same(clicks):
    args = ["graph", "train.tokens", "--dense-threshold", 0.5, "--min-edge-count", 3, "--pairs", 5]
    memory = ["--memory", "1G", "--cache", "cache"]
    for coloring in ("first-fit", "uniform"):
        plain, within = (
            run(*args, "--coloring", coloring, "--export", f"{name}.csv", "--json", *more, cwd=clicks)
            for name, more, run in (("plain", [], chromatic), ("within", memory, in_a_process))
        )
        told = [json.loads(done.stdout) for done in (plain, within)]
        for each in told:
            each.pop("coloring_seconds", None)
        assert told[0] == told[1] and len(told[0]["pairs"]) == 5
        assert {*(clicks / "plain.csv").read_text().split()} == {
            *(clicks / "within.csv").read_text().split()
        }
    shown = chromatic(*args, cwd=clicks).stdout.decode()
    assert "pairs of features that share more rows than by chance" in shown and "user=u" in shown


def test_fit_chooses_k_and_fits_graphs_from_a_stream(clicks):
    fit = ["-v", "fit", "train.tokens", "--dense-threshold", 0.5, "--budget", 40]
    auto = chromatic(*fit, "-o", "auto.chroma", "--min-edge-count", "auto", cwd=clicks)
    assert auto.returncode == 0, auto.stderr
    words = auto.stderr.decode().partition("min_edge_count: ")[2]
    k = words.split(",")[0]
    chromatic(*fit, "-o", "plain.chroma", "--min-edge-count", k, cwd=clicks)
    memory = ["--min-edge-count", k, "--memory", "1G", "--cache", "cache"]
    within = in_a_process(*fit, "-o", "within.chroma", *memory, cwd=clicks)
    assert int(k) > 1 and b"MB of filters let pass" in within.stderr
    assert (clicks / "within.chroma").read_bytes() == (clicks / "plain.chroma").read_bytes()
    told = [
        json.loads(chromatic("inspect", f"{n}.chroma", "--json", cwd=clicks).stdout)
        for n in ("auto", "plain")
    ]
    assert told[0]["colors"] == told[1]["colors"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--max-k", 0], "max_k is 0; expected 1 to 65,534"),
        (["--coloring", "uniform", "--max-colors", 3], "max_colors is 3; expected "),
        (["--min-edge-count", 0], "min_edge_count is 0; expected a whole number from 1"),
        (["--coloring", "best"], "--coloring is 'best'; expected balanced, first-fit"),
        (["--export", "graph.txt"], "graph.txt: a graph is not written to such a file; expected a name"),
        (["--max-k", 2, "--delta", 0.7], "delta is 0.7; expected more than 0 and at most 0.6065"),
        (["--order", "name"], "--order is 'name'; expected count, degree, largest-first or smallest-last"),
        (["--plots", "train.tokens"], "train.tokens: is a file; expected a folder"),
        (["--pairs", 0], "pairs is 0; expected 1 or more"),
        (["--order", "degree", "--coloring", "random"], "order is 'degree' and the coloring 'random' has"),
        (["--memory", "1G", "--max-k", 3], "--max-k needs all rows in memory; expected none, or no --mem"),
    ],
)
def test_graph_refuses_what_cannot_be(clicks, args, message):
    done = chromatic("graph", "train.tokens", "--dense-threshold", 0.5, *args, cwd=clicks)
    assert done.returncode == 2 and message in done.stderr.decode()
    assert b"Traceback" not in done.stderr


@pytest.fixture
def clicks(tmp_path):
    lines = [f"{int(i % 7 < 3)} user=u{i % 7} page=p{i % 50} tag=t{i % 11}" for i in range(700)]
    (tmp_path / "train.tokens").write_text("\n".join(lines))
    (tmp_path / "test.tokens").write_text("\n".join(lines[::-1]))
    return tmp_path


@pytest.mark.parametrize("encoding", ["submodular", "target", "frequency", "identity"])
def test_fit_and_transform_write_columns(clicks, encoding):
    def run(*args):
        done = chromatic(*args, cwd=clicks)
        assert (done.returncode, done.stderr) == (0, b"")

    fit = ["fit", "train.tokens", "--budget", 20, "--encoding", encoding, "--dense-threshold", 0.5]
    run(*fit, "-o", "m.chroma", "--encoded", "train.svm")
    run(*fit, "-o", "again.chroma", "--threads", 1)
    assert (clicks / "m.chroma").read_bytes() == (clicks / "again.chroma").read_bytes()
    for name in ("test.svm", "test.vw", "test.parquet", "test.npz"):
        run("transform", "m.chroma", "test.tokens", "-o", name)
    train, test = ((clicks / f"{name}.svm").read_text().splitlines() for name in ("train", "test"))
    assert len(train) == len(test) == 700
    assert [line.split()[0] for line in test] == [line.split()[0] for line in train[::-1]]
    assert min(int(word.split(":")[0]) for line in test for word in line.split()[1:]) == 1


def test_fit_says_how_many_rows_a_split_leaves(clicks):
    fit = "fit train.tokens -o m.chroma --encoded t.svm --leakage split"
    done = chromatic(*fit.split(), cwd=clicks)
    assert done.returncode == 0 and b"of 700 rows that are left to train on" in done.stderr
    assert 200 < len((clicks / "t.svm").read_text().splitlines()) < 500


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--budget", "0"], "budget is 0; expected a whole number from 1"),
        (["--budget", "many"], "--budget is 'many'; expected a whole number"),
        (["--leakage", "some"], "--leakage is 'some'; expected crossfit, split or none"),
        (["--min-gain", "nan"], "min_gain is nan; expected a number from 0"),
        (["--cache", "here"], "cache is of no use without memory; expected both"),
        (["--engine", "dask"], "--engine is 'dask'; expected local or spark"),
        (["--engine", "spark", "--values", "distinct"], "--values is distinct; expected elide with"),
        (["--memory", "8G", "--encoded", "t.npz"], "npz is held as a whole; expected svmlight"),
        (["--encoding", "x"], "--encoding is 'x'; expected submodular, target, frequency or identity"),
        (["--max-colors", "x"], "--max-colors is 'x'; expected a whole number, proper or paper"),
        (["--smoothing", "x"], "--smoothing is 'x'; expected a number or auto"),
        (["--encoded", "t.xyz"], "cannot tell the format to write"),
    ],
)
def test_fit_refuses_what_cannot_be(clicks, args, message):
    done = chromatic("fit", "train.tokens", "-o", "m.chroma", *args, cwd=clicks)
    assert done.returncode == 2 and message in done.stderr.decode() and done.stderr.count(b"\n") == 1
    assert not (clicks / "m.chroma").exists()


def test_inspect_tells_columns_and_features(clicks):
    def run(*args):
        return json.loads(chromatic("inspect", "m.chroma", *args, "--json", cwd=clicks).stdout)

    chromatic(*["fit", "train.tokens", "-o", "m.chroma", "--dense-threshold", "0.5"], cwd=clicks)
    whole, column = run(), run("--column", 0)
    assert (whole["training_rows"], whole["sparse_features"]) == (700, 68)
    assert (whole["collisions"], whole["linear_columns"]) == ("sum", 3) and whole["linear_penalty"] > 0
    name, count, rate = column["features"][0]
    feature = run("--feature", name)
    assert {key: feature[key] for key in list(feature)[:5]} == {
        "feature": name,
        "color": column["color"],
        "column": 0,
        "count": count,
        "rate": rate,
    }
    own = run("--column", feature["linear"])
    assert list(own) == ["column", "name", "color", "weight", "rows", "features"]
    assert run("--column", own["name"]) == own
    assert [name, count, feature["weight"]] in own["features"]
    plain = chromatic("inspect", "m.chroma", "--column", feature["linear"], cwd=clicks).stdout.decode()
    assert all(f"{weight:.4f}" in plain for _, _, weight in own["features"])
    assert column["rows"] == sum(count for _, count, _ in column["features"])
    plain = chromatic("inspect", "m.chroma", "--column", 0, cwd=clicks).stdout.decode()
    assert name in plain and "rate" in plain
    for args, message in (
        (["--column", 9999], b"expected a number from 0 to"),
        (["--feature", "x"], b"is not among"),
    ):
        done = chromatic("inspect", "m.chroma", *args, cwd=clicks)
        assert done.returncode == 2 and message in done.stderr


def test_transform_refuses_what_is_no_model(clicks):
    done = chromatic("transform", "train.tokens", "test.tokens", "-o", "x.svm", cwd=clicks)
    assert done.returncode == 2 and b"is no model file" in done.stderr and done.stderr.count(b"\n") == 1


def test_convert_goes_from_any_format_to_any(fruit, tmp_path):
    for name in ("a.parquet", "b.npz", "c.vw.gz", "d.svm.zst"):
        assert chromatic("convert", fruit, "-o", tmp_path / name).returncode == 0
        fruit = tmp_path / name
    back = chromatic("convert", fruit, *["-o", "-", "--to", "svmlight"])
    assert sorted(map(sorted, map(bytes.split, back.stdout.splitlines()))) == sorted(
        sorted([line.split()[0], *(word + b":1" for word in line.split()[1:])])
        for line in TEXT.splitlines()
    )


def test_pipes_work_at_both_ends():
    done = in_a_process(*["convert", "-", "-o", "-", "--to", "vw"], stdin=gzip.compress(TEXT))
    assert done.stdout.splitlines()[0] == b"1 | red round"
    assert done.stderr == b"", "a progress bar on a pipe"


@pytest.mark.parametrize(
    ("args", "stdin", "message"),
    [
        (["describe", "nowhere.svm"], b"", "chromatic: nowhere.svm: no such file; check the path"),
        (["describe", "-"], b"1 1:1\nx 1:1\n", "chromatic: -, line 2: found 'x'; expected a finite number"),
        (["describe", "-"], b"", "chromatic: -: is empty; expected at least one row"),
        (
            ["describe", "-", "--min-count", "0"],
            b"1 1",
            "chromatic: min_count is 0; expected a whole number",
        ),
        (["describe", "-", "--format", "xml"], b"1 1", "chromatic: --format is 'xml'; expected svmlight,"),
        (["describe", "-", "--threads", "0"], b"1 1", "chromatic: the number of threads is 0"),
        (["convert", "-", "-o", "out.xyz"], b"1 1", "chromatic: cannot tell the format to write"),
        (
            ["convert", "-", "-o", "no/where.svm"],
            b"1 1",
            "there is no folder no; make it first",
        ),
        (["convert", "-", "-o", "x.npz.gz"], b"1 1", "npz is compressed within"),
        (
            ["convert", "-", "-o", "-", "--to", "csv"],
            b"1 1",
            "--to is 'csv'; expected svmlight, vw, parquet or npz",
        ),
        (["describe", "-", "-"], b"1 1", "standard input (-) is named twice"),
        (["graph", "-", "--test", "-"], b"1 1", "standard input (-) is named twice"),
        (["graph", "-", "--seed", "-1"], b"1 1", "the seed is -1"),
        (["graph", "-", "--max-colors", "0"], b"1 1", "chromatic: max_colors is 0; expected 1 to"),
        (
            ["graph", "-", "--max-colors", "x"],
            b"1 1",
            "--max-colors is 'x'; expected a whole number or proper",
        ),
        (["describe", "-", "--features", "integer"], b"1 5000000000:1", "expected an integer feature"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, args, stdin, message):
    done = chromatic(*args, stdin=stdin, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr.decode() and done.stderr.count(b"\n") == 1
    assert os.listdir(tmp_path) == []


def test_bad_lines_are_skipped_and_counted():
    done = chromatic("describe", "-", "--json", "--on-bad-line", "skip", stdin=b"1 1:1\noops\n0 2:x\n")
    assert json.loads(done.stdout)["skipped_lines"] == 2
    assert b"skipped 2 bad lines" in done.stderr


def test_a_target_that_cannot_be_written_is_one_line_and_exit_code_1(fruit):
    done = chromatic("convert", fruit, "-o", "/proc/x.svm")
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1


def test_a_reader_that_goes_away_is_no_traceback(tmp_path):
    path = tmp_path / "long.svm"
    path.write_bytes(b"1 1:1 2:1 3:1\n" * 100_000)
    command = f"{sys.executable} -m chromatic.cli.main convert {path} -o - --to vw | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=PATIENCE)
    assert (done.stdout, done.stderr) == (b"1 | 1 2 3\n", b"")


def test_the_command_line_does_without_scikit_learn_and_arrow_for_text(fruit):
    script = (
        "import sys; from chromatic.cli.main import main\n"
        f"sys.argv = ['chromatic', 'describe', {str(fruit)!r}]\n"
        "try: main()\nexcept SystemExit as done: assert not done.code\n"
        "heavy = {'sklearn', 'pandas', 'pyarrow', 'torch', 'rich.progress'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr.decode()


def test_unknown_features_are_refused_where_the_model_says_so(clicks):
    fit = ["fit", "train.tokens", "-o", "m.chroma", "--dense-threshold", 0.5]
    assert chromatic(*fit, "--handle-unknown", "error", cwd=clicks).returncode == 0
    known = chromatic("transform", "m.chroma", "test.tokens", "-o", "known.svm", cwd=clicks)
    assert (known.returncode, known.stderr) == (0, b"")
    (clicks / "new.tokens").write_text("1 user=u1 page=new\n0 page=p3 tag=new\n")
    refused = chromatic("transform", "m.chroma", "new.tokens", "-o", "new.svm", cwd=clicks)
    assert refused.returncode == 2 and not (clicks / "new.svm").exists()
    assert refused.stderr.decode() == (
        "chromatic: 2 features of 2 rows were not seen in training; expected known ones, or "
        "handle_unknown='ignore'\n"
    )
    assert chromatic(*fit, cwd=clicks).returncode == 0
    assert chromatic("transform", "m.chroma", "new.tokens", "-o", "new.svm", cwd=clicks).returncode == 0


def test_npm_has_the_figures_of_the_paper_s_program(npm):
    done = chromatic("describe", npm / "train.svm.xz", "--json")
    figures = json.loads(done.stdout)
    assert (figures["rows"], figures["dense_features"], figures["sparse_features"]) == (752310, 7, 1573526)
    assert figures["max_nnz"] == 65


def test_the_demo_compares_and_writes_a_report(tmp_path):
    done = in_a_process("demo", "--out", tmp_path / "demo")
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    losses = [float(line.split()[-3]) for line in text.splitlines() if line.startswith("chromatic  ")]
    others = [float(line.split()[-3]) for line in text.splitlines() if "(FT)" in line or "paper's" in line]
    assert len(losses) == 2 and max(losses) < min(others)
    [every] = [float(line.split()[-3]) for line in text.splitlines() if line.startswith("all features, ")]
    assert losses[-1] <= 1.005 * every
    assert f"columns of chromatic: {losses[-1]:.4f}; with all 291,092 features: {every:.4f}." in text
    names = {"model.chroma", "report.html", "log-loss.png", "information.png", "colors.png"}
    assert {path.name for path in (tmp_path / "demo").iterdir()} == names
