"""`chromatic graph`: how the features of a data set color, and what that costs on other rows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from chromatic.cli import options


def graph(
    train: options.Inputs,
    reading: options.Reading,
    limits: options.Limits,
    test: Annotated[
        list[str] | None, typer.Option(help="Rows to count collisions on; may be given several times.")
    ] = None,
    coloring: Annotated[str, typer.Option(help="balanced, first-fit or random.")] = "balanced",
    max_colors: Annotated[
        str,
        typer.Option(help="A number, or proper: as many as needed (random: twice what balanced needs)."),
    ] = "proper",
    seed: Annotated[int, typer.Option(help="For the random coloring.")] = 0,
    json_: options.Json = False,
) -> None:
    """Color the features of TRAIN so that features of one row differ, and count collisions on TEST.

    Example: chromatic graph train.svm.gz --test test.svm.gz --json
    """
    from chromatic.coloring import certify, collisions, color, transpose
    from chromatic.coloring.certificate import ASSUMES
    from chromatic.errors import InputError

    palette: int | str = options.number_or_word(max_colors)
    if palette != "proper" and not isinstance(palette, int):
        raise InputError(f"max_colors is {max_colors!r}; expected a number, or proper")
    test = test or []
    with reading.reader([*train, *test]) as reader:
        data = reader.read(train, **asdict(limits), keep_names=False)
    options.say_what_was_left_out(data.left_out)
    others = reading.code(test, data.vocabulary) if test else None
    columns = transpose(data.rows, reader.threads)
    if coloring == "random" and palette == "proper":
        palette = max(1, 2 * color(data.rows, columns=columns).n_colors)
    found = color(data.rows, coloring, palette, seed=seed, columns=columns)
    figures = options.size_of(data) | {
        "pairs_per_row": data.rows.pairs_per_row,
        "colors": found.n_colors,
        "color_lower_bound": found.lower_bound,
        "forced": found.forced,
        "conflicts": found.conflicts,
    }
    if coloring == "random":
        certificate = certify(data.rows, columns, found, threads=reader.threads)
        figures["expected_collisions"] = certificate.expected
        figures["standard_error"] = certificate.standard_error
        options.log.warning("expected collisions: %s", ASSUMES)
    if others is not None:
        figures |= {
            "test_rows": others.rows.n_rows,
            "collisions": collisions(others.rows, found, reader.threads).mean,
            "unseen_features": others.rows.unseen,
        }
    options.show(figures, json_)
