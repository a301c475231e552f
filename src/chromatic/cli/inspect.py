"""`chromatic inspect`: what a model has learned."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from chromatic.cli import options


def inspect(
    model: Annotated[str, typer.Argument(help="A model file that `chromatic fit` wrote.")],
    column: Annotated[int | None, typer.Option(help="Tell the features of this column, from 0.")] = None,
    feature: Annotated[str | None, typer.Option(help="Tell where this feature went.")] = None,
    json_: options.Json = False,
) -> None:
    """Tell what a model, one of its columns, or one of its features is.

    Columns count from 0, as in Parquet and npz files; in svmlight and Vowpal Wabbit text they count from 1.

    Example: chromatic inspect model.chroma --column 17
    """
    from chromatic.encoding.explain import explain, locate
    from chromatic.modelfile import load

    encoding = load(model).encoding
    if column is not None:
        _show(explain(encoding, column), json_)
    elif feature is not None:
        _show(locate(encoding, feature), json_)
    else:
        coloring, vocabulary = encoding.coloring, encoding.vocabulary
        figures = {
            "training_rows": vocabulary.n_rows,
            "dense_features": len(vocabulary.dense_names),
            "sparse_features": len(vocabulary),
            "colors": coloring.n_colors,
            "forced": coloring.forced,
            "sparse_columns": encoding.n_sparse_columns,
            "columns": encoding.n_sparse_columns + len(vocabulary.dense_names),
        }
        options.show(figures, json_)


def _show(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(found))
        return
    features = found.pop("features", [])
    options.show({name: value for name, value in found.items() if name != "feature"}, False)
    for name, count, rate in features[:50]:
        told = "  dense: its value passes through" if count is None else f"{count:>12,} rows{rate:>10.4f}"
        print(f"  {name:<48}{told}")
    if len(features) > 50:
        print(f"  and {len(features) - 50:,} more; --json tells them all")
