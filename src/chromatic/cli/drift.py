"""`chromatic drift`: what has moved between the rows of training and new rows."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

import click

from chromatic.cli import options, terminal
from chromatic.errors import InputError

if TYPE_CHECKING:
    from chromatic.drift.findings import Drift, Labels
    from chromatic.jobs import Reading
    from chromatic.parameters import Settings

log = logging.getLogger("chromatic")

LISTED = 10  # columns in a table
NAMED = 3  # features beside a column
FAILED = 3  # the exit code


@options.model
@options.argument("new", "Files of new rows, in their order; - is standard input.", several=True)
@options.option("--window", number=int, help="The rows of a window; by default there are ten to twenty.")
@options.option(
    "--fail-above",
    number=float,
    help="End with exit code 3 where the PSI of a column is above this number and beyond chance, or where "
    "the share of unseen features in a window is that much above what is expected.",
)
@options.option(
    "--labels/--no-labels",
    "labelled",
    is_flag=True,
    default=True,
    help="Whether to use the labels that come with the rows.",
)
@options.output("A page to write; - is standard output.", required=False)
@options.as_json
@options.parameters("threads")
@options.reading
def drift(
    model: str,
    new: list[str],
    window: int | None,
    fail_above: float | None,
    *,
    labelled: bool,
    output: str | None,
    as_json: bool,
    settings: Settings,
    reading: Reading,
) -> None:
    """Tell what has moved between the rows that a model was fitted on and new rows.

    The features that training did not have, by window; the columns whose features come more or less often
    than chance makes of it; with labels, the rates of columns and what the linear columns predict.

    Example: chromatic drift model.chroma today.svm.gz --window 1000 --fail-above 0.2
    """
    from chromatic._files import check_target
    from chromatic.jobs import drift_files
    from chromatic.modelfile import load

    if fail_above is not None and not fail_above >= 0:
        raise InputError(f"--fail-above is {fail_above}; expected 0 or more")
    if output == "-" and as_json:
        raise InputError("--json and -o - both write to standard output; expected a file, or one of them")
    if output not in (None, "-"):
        check_target(str(output))
    found = drift_files(new, load(model), reading, settings.threads, window=window, labelled=labelled)
    if as_json:
        terminal.say_json(found.to_dict())
    elif output != "-":
        _show(found)
    if output is not None:
        _write(found, output, os.path.basename(model))
    above = [] if fail_above is None else found.above(fail_above)
    if above:
        more = f", and {len(above) - 1:,} more" if len(above) > 1 else ""
        log.warning("drift above %g: %s%s", fail_above, above[0], more)
        raise click.exceptions.Exit(FAILED)


def _write(found: Drift, output: str, name: str) -> None:
    """Write the page."""
    from chromatic._files import replacing
    from chromatic.report.drift import page

    with replacing(output) as file:
        file.write(page(found, name=name).encode())


def _show(found: Drift) -> None:
    """Print what was found, for people."""
    one = found.labels[0] if len(found.labels) == 1 else None
    figures: dict[str, Any] = {
        "training_rows": found.training_rows,
        "new_rows": found.rows,
        "unseen_of_a_row": _percent(found.unseen),
        "expected": _percent(found.expected_unseen),
        "rows_with_unseen": _percent(found.rows_with_unseen),
    }
    if one is not None:
        figures |= {"labels_then": one.then, "labels_now": one.now, "predicted": one.predicted}
        figures["slope"] = _slope(one)
    terminal.show(figures, False)
    terminal.say("")
    terminal.show_table(_windows(found, one))
    if len(found.labels) > 1:
        terminal.say("")
        terminal.show_table([_of_class(each) for each in found.labels])
    _show_columns(found)


def _windows(found: Drift, one: Labels | None) -> list[dict[str, Any]]:
    records = []
    for at, window in enumerate(found.windows):
        record: dict[str, Any] = {
            "first_row": window.first,
            "rows": window.rows,
            "unseen_of_a_row": _percent(window.unseen),
            "rows_with_unseen": _percent(window.rows_with_unseen),
        }
        if one is not None:
            record |= {"labels": one.windows[at].observed, "predicted": one.windows[at].predicted}
        records.append(record)
    return records


def _show_columns(found: Drift) -> None:
    moved, rates = found.moved, [one for one in found.rates_moved if one.rate_moved]
    terminal.say(
        "", f"{len(moved):,} of {len(found.columns):,} columns are beyond chance by their features"
    )
    if moved:
        terminal.show_table(
            [
                {
                    "column": one.column,
                    "then": one.then,
                    "now": one.now,
                    "psi": one.psi,
                    "by_chance": one.noise,
                    "limit": one.limit,
                    "name": one.name,
                }
                for one in moved[:LISTED]
            ]
        )
    told = sum(one.errors is not None for one in found.columns)
    if told:
        terminal.say("", f"{len(rates):,} of {told:,} columns are beyond chance by their rates")
    if rates:
        terminal.show_table(
            [
                {
                    "column": one.column,
                    "then": one.rate_then,
                    "now": one.rate_now,
                    "st._errors": f"{one.errors:+.1f}",
                    "most_frequent": ", ".join(each.feature for each in one.features[:NAMED]),
                }
                for one in rates[:LISTED]
            ]
        )


def _of_class(one: Labels) -> dict[str, Any]:
    told = {"class": one.label, "then": one.then, "now": one.now, "predicted": one.predicted}
    return told | {"slope": _slope(one)}


def _slope(one: Labels) -> str | None:
    return None if one.slope is None else f"{one.slope:.3f} ± {one.slope_error:.3f}"


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.1%}"
