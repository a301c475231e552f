"""`chromatic inspect`: what a model has learned."""

from __future__ import annotations

import json
from typing import Any

from chromatic.cli import options, terminal
from chromatic.errors import InputError

MOST_FEATURES = 50  # that are printed


@options.model
@options.option("--column", help="Tell the features of this column: its number, from 0, or its name.")
@options.option("--feature", help="Tell where this feature went.")
@options.option(
    "--row",
    help="Tell where the features of this row went: tokens with spaces between them, or a row of a table "
    "as a JSON object.",
)
@options.as_json
def inspect(model: str, column: str | None, feature: str | None, row: str | None, as_json: bool) -> None:
    """Tell what a model, one of its columns or one of its features is, or what becomes of a row.

    Columns count from 0, as in Parquet and npz files; in svmlight and Vowpal Wabbit text they count from 1.

    Example: chromatic inspect model.chroma --column 17
    """
    from chromatic.data.schema import listed
    from chromatic.encoding.explain import explain, locate
    from chromatic.modelfile import load

    loaded = load(model)
    encoding = loaded.encoding
    if column is not None:
        number = int(column) if column.isascii() and column.isdigit() else column
        _show(explain(encoding, number, loaded.column_names()), as_json)
    elif feature is not None:
        _show(locate(encoding, feature), as_json)
    elif row is not None:
        _show_row(loaded, row, as_json)
    else:
        coloring, vocabulary = encoding.coloring, encoding.vocabulary
        parts = [one.part for one in encoding.of_classes()]
        linear = [part.linear for part in parts or [encoding] if part.linear is not None]
        figures: dict[str, Any] = {
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
        if coloring.sampled_rows is not None:
            figures["colored_rows"] = coloring.sampled_rows
        if loaded.classes is not None:
            classes = [f"{one:g}" if isinstance(one, float) else str(one) for one in loaded.classes]
            figures["classes"] = list(loaded.classes) if as_json else listed(classes)
        terminal.show(figures, as_json)


def _show_row(model: Any, text: str, as_json: bool) -> None:
    """Print a table of the features of a row."""
    from chromatic.encoding.explain_row import explain_row

    names = model.column_names()
    told = explain_row(model.encoding, _read(model, text), names)
    if as_json:
        terminal.say_json(told)
        return
    rates = model.encoding.measure_key, "smoothed", "observed"
    told_of = "color", "column", "name", *rates, "adds", "linear", "weight"
    records = []
    for entry in told["features"]:
        feature = f"(none of color {entry['color']})" if entry["feature"] is None else entry["feature"]
        records.append({"feature": feature} | {name: entry[name] for name in told_of if name in entry})
    if records:
        terminal.show_table(records)
    for feature in told["unseen"]:
        terminal.say(f"{feature}: not seen in training")
    if not records and not told["unseen"]:
        terminal.say("the row has no features")


def _read(model: Any, text: str) -> Any:
    """Return a row of the command line as a batch."""
    from chromatic.data import Reader
    from chromatic.data.batch import check_kind
    from chromatic.data.reader import NO_LABEL
    from chromatic.encoding.row import table_of_row

    vocabulary = model.encoding.vocabulary
    row: Any = text.split()
    if text.lstrip().startswith("{"):
        try:
            row = json.loads(text)
        except ValueError as error:
            raise InputError(f"--row is no JSON object ({error}); expected one, or tokens") from error
        if model.input.reads_tables(vocabulary):
            table = table_of_row(row, vocabulary, model.input.columns, model.input.label)
            return Reader(label=NO_LABEL).by(vocabulary).batches(table)[0]
    elif vocabulary.numeric_names:
        named = vocabulary.numeric_names[0].decode()
        raise InputError(
            f"the model has numeric columns, such as {named!r}; expected --row as a JSON object"
        )
    elif vocabulary.integers and all(token.isascii() and token.isdigit() for token in row):
        row = [int(token) for token in row]
    batches = Reader().batches([row])
    check_kind(batches, vocabulary.kind_in)
    return batches[0]


def _show(facts: dict[str, Any], as_json: bool) -> None:
    """Print the facts of a column or of a feature."""
    if as_json:
        terminal.say_json(facts)
        return
    features, classes = facts.get("features", []), facts.get("classes", {})
    others = ("feature", "features", "rates", "classes")
    terminal.show({name: facts[name] for name in facts if name not in others}, False)
    for label, place in classes.items():
        written = {key: f"{one:.4g}" if isinstance(one, float) else one for key, one in place.items()}
        told = ", ".join(f"{name} {value}" for name, value in written.items())
        terminal.say(f"  {label:<24}{told}")
    most = len(features) if "weight" in facts else MOST_FEATURES  # a linear column lists its strongest
    of_each = facts.get("rates", [(None, None)] * len(features))
    for (name, count, rate), both in list(zip(features, of_each, strict=True))[:most]:
        told = "  dense: its value passes through" if count is None else f"{count:>12,} rows{rate:>10.4f}"
        for what, one in zip(("smoothed", "observed"), both, strict=True):
            told += f"  {what} {one:.4f}" if what in facts and one is not None else ""
        terminal.say(f"  {name:<48}{told}")
    if len(features) > most:
        terminal.say(f"  and {len(features) - most:,} more; --json tells them all")
