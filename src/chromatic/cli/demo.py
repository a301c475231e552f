"""`chromatic demo`: what it does, on real data that comes with it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from chromatic.cli import options

if TYPE_CHECKING:
    from chromatic.parameters import Settings

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


@options.output("The folder for report and figures.", "--out", default="chromatic-demo")
@options.parameters("threads")
def demo(output: str, settings: Settings) -> None:
    """Compare ways to make columns, on names of npm packages, and show a model.

    Example: chromatic demo
    """
    from chromatic._threads import thread_count
    from chromatic.encoding.explain import explain
    from chromatic.encoding.fitting import Settings, SubmodularEncoding, fit
    from chromatic.errors import InputError
    from chromatic.experiments.demo import (
        BUDGETS,
        ENCODERS,
        compare,
        draw,
        most_telling,
        read,
        write_report,
    )

    os.makedirs(output, exist_ok=True)
    count = thread_count(settings.threads)
    split = read(count)
    rows, vocabulary = split.train.rows, split.train.vocabulary
    print(
        f"{rows.n_rows:,} names of npm packages, each a row: its words, pairs of words and scope, "
        f"{len(vocabulary):,} features in all.\n"
        f"Does a package have 50 downloads a month? Logistic regression, measured on {len(split.y_test):,} "
        f"other names\n(knowing only that {split.y.mean():.0%} do: log loss {split.base_log_loss:.4f}).\n"
    )
    print(f"{'columns made by':<30}{'budget':>8}{'columns':>10}{'log loss':>10}{'AUC':>8}{'seconds':>9}")
    results = []
    for result in compare(split, count):
        if result["error"] is not None:
            raise InputError(result["error"])
        results.append(result)
        seconds = result["encode_seconds"] + result["train_seconds"]
        print(
            f"{ENCODERS[result['encoder']]:<30}{result['budget'] or '':>8}{result['columns']:>10,}"
            f"{result['log_loss']:>10.4f}{result['auc']:>8.4f}{seconds:>9.1f}",
            flush=True,
        )
    encoding = fit(split.train, split.y, Settings(BUDGETS[0]), count).encoding
    assert isinstance(encoding, SubmodularEncoding)
    print(
        f"\nFeatures that never meet in a row share a color: {len(vocabulary):,} features, "
        f"{encoding.coloring.n_colors} colors.\nThe labels then group the features of each color by how "
        f"popular their packages are: {encoding.n_sparse_columns} columns, such as\n"
    )
    for column in most_telling(encoding, 3):
        facts = explain(encoding, column)
        names = ", ".join(name for name, _, _ in facts["features"][:6])
        print(f"  column {column}: {facts['rows']:,} rows, {facts['rate']:.0%} popular: {names}, ...")
    written = write_report(split, encoding, output, count)
    try:
        written += draw(results, encoding, split.base_log_loss, output)
    except InputError as error:
        print(f"\nNo figures: {error}")
    print(
        "\nWritten, the report to be opened in a browser:\n" + "\n".join(f"    {path}" for path in written)
    )
    print(NEXT)
