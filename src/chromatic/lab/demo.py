"""The demo: names of packages, five ways to make columns of them, one logistic regression each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chromatic._files import make_folder, replacing
from chromatic.encoding.explain import explain
from chromatic.encoding.information import Information
from chromatic.encoding.protocol import Encoding
from chromatic.errors import InputError
from chromatic.fitting import LocalSource, fit
from chromatic.lab.datasets.npm import read_npm_names
from chromatic.learn.evaluate import Result, evaluate
from chromatic.learn.splits import Split
from chromatic.model import Model
from chromatic.modelfile import save
from chromatic.parameters import Settings
from chromatic.report.figures import BLUE, GRAY, GREEN, ORANGE, RED, write_figures
from chromatic.report.page import report

BUDGETS = (64, 256)
ENCODERS = {
    "ft": "most frequent features (FT)",
    "ht": "signed hashing (HT)",
    "cl-sm-paper": "the paper's CL+SM",
    "cl-sm": "chromatic",
    "none": "all features, uncompressed",
}

NEXT = """
With data of your own:

    chromatic encode train.svm --test test.svm -o columns    # svmlight, VW, CSV, Parquet, tokens
    chromatic inspect columns/model.chroma --column 0
    chromatic report columns/model.chroma --test test.svm -o report.html
    chromatic evaluate train.svm test.svm --encoder cl-sm --encoder ft --learner lr

or in Python:

    from chromatic import ChromaticEncoder
    encoder = ChromaticEncoder(budget=1024)
    Z = encoder.fit_transform(X, y)       # X: lists of tokens, a sparse matrix, a frame or a path
    Zt = encoder.transform(X_test)"""


def run(out: str, threads: int, say: Callable[[str], None]) -> None:
    """Compare the encoders, show a model, and write its report and figures to a folder."""
    make_folder(out)
    split = read_npm_names(threads)
    n_rows, n_features = split.train.rows.n_rows, len(split.train.vocabulary)
    say(
        f"{n_rows:,} names of npm packages, each a row: its words, pairs of words and scope, "
        f"{n_features:,} features in all.\n"
        "Does a package have 50 downloads a month? Logistic regression, its penalty chosen on held-out\n"
        f"rows, measured on {len(split.y_test):,} other names (knowing only that {split.y.mean():.0%} do: "
        f"log loss {split.base_loss:.4f}).\n"
    )
    say(f"{'columns made by':<30}{'budget':>8}{'columns':>10}{'log loss':>10}{'AUC':>8}{'seconds':>9}")
    results = []
    for result in compare(split, threads):
        if result["error"] is not None:
            raise InputError(result["error"])
        results.append(result)
        seconds = result["encode_seconds"] + result["train_seconds"]
        say(
            f"{ENCODERS[result['encoder']]:<30}{result['budget'] or '':>8}{result['columns']:>10,}"
            f"{result['log_loss']:>10.4f}{result['auc']:>8.4f}{seconds:>9.1f}"
        )
    say(beside_all_features(results))
    source = LocalSource(split.train, split.y, threads=threads)
    encoding = fit(source, Settings(BUDGETS[-1])).encoding
    n_linear = encoding.n_sparse_columns - encoding.n_own_columns
    say(
        f"\nFeatures that seldom meet in a row share a color: {n_features:,} features, "
        f"{encoding.coloring.n_colors} colors.\n{n_linear} columns sum what each feature adds in a linear "
        "model of all features. The others group\nthe features of a color by how popular their packages "
        f"are: {encoding.n_own_columns} columns, such as\n"
    )
    for column in most_telling(encoding, 3):
        about = explain(encoding, column)
        names = ", ".join(name for name, _, _ in about["features"][:6])
        say(f"  column {column}: {about['rows']:,} rows, {about['rate']:.0%} popular: {names}, ...")
    written = write_report(split, encoding, out, threads)
    try:
        written += draw(results, encoding, split.base_loss, out)
    except InputError as error:
        say(f"\nNo figures: {error}")
    say("\nWritten, the report to be opened in a browser:\n" + "\n".join(f"    {path}" for path in written))
    say(NEXT)


def compare(split: Split, threads: int = 1) -> Iterator[Result]:
    """Yield test log loss and AUC of logistic regression on each encoder's columns."""
    options: dict[str, Any] = {"threads": threads, "isolated": False}
    for encoder in ENCODERS:
        yield from evaluate(split, [encoder], ["lr"], BUDGETS, **options)


def beside_all_features(results: list[Result]) -> str:
    """Return the sentence that sets our columns at the largest budget beside all features."""
    told = {one["encoder"]: (one["columns"], one["log_loss"]) for one in results}  # the last of each
    (columns, ours), (features, uncompressed) = told["cl-sm"], told["none"]
    return (
        f"\nLog loss with {columns:,} columns of chromatic: {ours:.4f}; with all {features:,} features: "
        f"{uncompressed:.4f}."
    )


def most_telling(encoding: Encoding, count: int) -> list[int]:
    """Return the columns of a color that tell most of the label."""
    order = np.argsort(-encoding.column_facts().strength[: encoding.n_own_columns], kind="stable")
    return [int(column) for column in order[:count]]


def write_report(split: Split, encoding: Encoding, folder: str, threads: int = 1) -> list[str]:
    """Write the model and its report; their paths."""
    paths = [os.path.join(folder, name) for name in ("model.chroma", "report.html")]
    model = Model(encoding, {"budget": BUDGETS[-1]})
    save(model, paths[0])
    with replacing(paths[1]) as file:
        file.write(report(model, split.test, name="names of npm packages", threads=threads).encode())
    return paths


def draw(results: list[Result], encoding: Encoding, base: float, folder: str) -> list[str]:
    """Three figures: what the table says, information against columns, and the sizes of the colors."""
    curve = encoding.information()
    assert curve is not None
    drawings = {
        "log-loss": lambda axes: _draw_losses(axes, results, base),
        "information": lambda axes: _draw_information(axes, curve),
        "colors": lambda axes: _draw_colors(axes, encoding),
    }
    return write_figures(drawings, folder)


def _draw_losses(axes: Any, results: list[Result], base: float) -> None:
    colors = dict(zip(ENCODERS, (GRAY, ORANGE, BLUE, GREEN, RED), strict=True))
    for encoder, name in ENCODERS.items():
        points = sorted((row["columns"], row["log_loss"]) for row in results if row["encoder"] == encoder)
        axes.plot(*zip(*points, strict=True), "o-", color=colors[encoder], label=name)
    axes.axhline(base, color="black", linewidth=1, linestyle=":", label="knowing the overall rate alone")
    axes.set(
        xscale="log", xlabel="columns", ylabel="log loss on other names", title="Fewer columns, less loss"
    )
    axes.legend()


def _draw_information(axes: Any, curve: Information) -> None:
    columns, nats = zip(*curve.curve, strict=True)
    axes.plot(columns, nats, color=BLUE, label="the best that so many columns can tell")
    axes.plot([curve.columns], [curve.chosen], "o", color=RED, label=f"the model: {curve.columns} columns")
    axes.axhline(curve.whole, color=GRAY, linewidth=1, linestyle=":", label="all features")
    axes.set(
        xlabel="columns", ylabel="mutual information, nats a row", title="What columns tell of the label"
    )
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower right")


def _draw_colors(axes: Any, encoding: Encoding) -> None:
    coloring = encoding.coloring
    sizes = -np.sort(-coloring.sizes)
    axes.bar(np.arange(len(sizes)), sizes, color=BLUE, width=1.0)
    title = f"{len(encoding.vocabulary):,} features share {coloring.n_colors} colors"
    axes.set(xlabel="colors, the largest first", ylabel="features of the color", title=title)
