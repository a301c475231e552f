"""`chromatic inspect`: what a model has learned."""

from __future__ import annotations

from typing import Any

from chromatic.cli import import_numba, options, terminal

MOST_FEATURES = 50  # that are printed


@options.model
@options.option("--column", number=int, help="Tell the features of this column, from 0.")
@options.option("--feature", help="Tell where this feature went.")
@options.as_json
def inspect(model: str, column: int | None, feature: str | None, as_json: bool) -> None:
    """Tell what a model, one of its columns, or one of its features is.

    Columns count from 0, as in Parquet and npz files; in svmlight and Vowpal Wabbit text they count from 1.

    Example: chromatic inspect model.chroma --column 17
    """
    import_numba()
    from chromatic.encoding.explain import explain, locate
    from chromatic.modelfile import load

    encoding = load(model).encoding
    if column is not None:
        _show(explain(encoding, column), as_json)
    elif feature is not None:
        _show(locate(encoding, feature), as_json)
    else:
        coloring, vocabulary = encoding.coloring, encoding.vocabulary
        parts = [one.part for one in encoding.of_classes()]
        linear = [part.linear for part in parts or [encoding] if part.linear is not None]
        figures = {
            "training_rows": vocabulary.n_rows,
            "dense_features": len(vocabulary.dense_names),
            "unused_dense_features": len(vocabulary.unused_names),
            "sparse_features": len(vocabulary),
            "colors": coloring.n_colors,
            "forced": coloring.forced,
            "collisions": "sum" if encoding.sums else "drop",
            "sparse_columns": encoding.n_sparse_columns,
            "linear_columns": sum(one.n_columns for one in linear),
            "linear_penalty": 1 / linear[0].strength if linear and not parts else None,
            "columns": encoding.n_sparse_columns + len(vocabulary.dense_names),
        }
        terminal.show(figures | ({"classes": len(parts)} if parts else {}), as_json)


def _show(facts: dict[str, Any], as_json: bool) -> None:
    """Print the facts of a column or of a feature."""
    if as_json:
        terminal.say_json(facts)
        return
    features, classes = facts.get("features", []), facts.get("classes", {})
    others = ("feature", "features", "classes")
    terminal.show({name: facts[name] for name in facts if name not in others}, False)
    for label, place in classes.items():
        told = ", ".join(f"{name} {value}" for name, value in place.items())
        terminal.say(f"  {label:<24}{told}")
    most = len(features) if "weight" in facts else MOST_FEATURES  # a linear column lists its strongest
    for name, count, rate in features[:most]:
        told = "  dense: its value passes through" if count is None else f"{count:>12,} rows{rate:>10.4f}"
        terminal.say(f"  {name:<48}{told}")
    if len(features) > most:
        terminal.say(f"  and {len(features) - most:,} more; --json tells them all")
