"""`chromatic demo`: what it does, on real data that comes with it."""

from __future__ import annotations

from typing import Annotated

import typer

NEXT = """
With data of your own:

    chromatic encode train.svm --test test.svm -o columns    # svmlight, VW, CSV, Parquet, tokens
    chromatic inspect columns/model.chroma --column 0
    chromatic evaluate train.svm test.svm --encoder cl-sm --encoder ft --learner lr

or in Python:

    from chromatic import ChromaticEncoder
    encoder = ChromaticEncoder(budget=1024)
    Z = encoder.fit_transform(X, y)       # X: lists of tokens, a sparse matrix, a frame or a path
    Zt = encoder.transform(X_test)"""


def demo(
    threads: Annotated[int | None, typer.Option(help="Threads; by default all cores.")] = None,
) -> None:
    """Compare ways to make columns, on names of npm packages.

    Example: chromatic demo
    """
    from chromatic._threads import thread_count
    from chromatic.encoding.explain import explain
    from chromatic.encoding.fitting import Settings, SubmodularEncoding, fit
    from chromatic.errors import InputError
    from chromatic.experiments.demo import BUDGETS, ENCODERS, compare, most_telling, read

    count = thread_count(threads)
    split = read(count)
    rows, vocabulary = split.train.rows, split.train.vocabulary
    print(
        f"{rows.n_rows:,} names of npm packages, each a row: its words, pairs of words and scope, "
        f"{len(vocabulary):,} features in all.\n"
        f"Does a package have 50 downloads a month? Logistic regression, measured on {len(split.y_test):,} "
        f"other names\n(knowing only that {split.y.mean():.0%} do: log loss {split.base_log_loss:.4f}).\n"
    )
    print(f"{'columns made by':<30}{'budget':>8}{'columns':>10}{'log loss':>10}{'AUC':>8}{'seconds':>9}")
    for result in compare(split, count):
        if result["error"] is not None:
            raise InputError(result["error"])
        seconds = result["encode_seconds"] + result["train_seconds"]
        print(
            f"{ENCODERS[result['encoder']]:<30}{result['budget'] or '':>8}{result['columns']:>10,}"
            f"{result['log_loss']:>10.4f}{result['auc']:>8.4f}{seconds:>9.1f}",
            flush=True,
        )
    fitted = fit(split.train, split.y, Settings(BUDGETS[0]), count)
    encoding = fitted.encoding
    assert isinstance(encoding, SubmodularEncoding)
    print("\nA column is a group of features of one color that behave alike, such as:\n")
    for column in most_telling(encoding, 3):
        found = explain(encoding, column)
        names = ", ".join(name for name, _, _ in found["features"][:6])
        print(f"  column {column}: {found['rows']:,} rows, {found['rate']:.0%} popular: {names}, ...")
    print(NEXT)
