"""Whole jobs on files: read them, fit, write columns and models. Commands and Spark call these functions.

What only some jobs need is imported by their functions: a command that only reads starts sooner.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from chromatic._files import check_target, make_folder
from chromatic._paths import NO_ROW_FILES, RowFiles, check_paths
from chromatic._threads import thread_count
from chromatic.data import Dataset, Reader
from chromatic.data.limit import Limit, parse_size
from chromatic.data.source import SUFFIXES, Progress, total_size
from chromatic.data.vocabulary import limits_of
from chromatic.data.writers import check_weights, format_to_write
from chromatic.errors import InputError
from chromatic.parameters import Settings

if TYPE_CHECKING:
    from chromatic.data.batch import Batch
    from chromatic.data.stored import StoredDataset
    from chromatic.data.vocabulary import Vocabulary
    from chromatic.drift import Drift
    from chromatic.fitting import Fitted
    from chromatic.model import Model

log = logging.getLogger("chromatic")

# What is done and the bytes that it takes, to a callback that is told of bytes, or None.
Bar = Callable[[str, int | None], AbstractContextManager[Progress | None]]


def no_bar(what: str, total: int | None) -> AbstractContextManager[None]:
    """Show nothing."""
    return contextlib.nullcontext()


@dataclass(frozen=True)
class Reading:
    """How files are read."""

    categorical: str | list[str] = "auto"
    label: str | None = None
    format: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    features: str = "auto"
    label_needed: bool = True
    on_bad_line: str = "raise"
    bar: Bar = no_bar  # shows how far the reading is


class Target(NamedTuple):
    """A file to write, and its format."""

    path: str
    format: str


def target_of(path: str, format: str | None = None) -> Target:
    """Return a file to write; refuse one whose format or folder is wrong."""
    target = Target(path, format_to_write(path, format))
    check_target(path)
    return target


def check_fit(settings: Settings, *targets: Target) -> None:
    """Refuse what cannot be fitted or written within a limit of memory."""
    if settings.memory is None:
        return
    for target in targets:
        if target.format in ("parquet", "npz"):
            raise InputError(f"{target.format} is held as a whole; expected svmlight, vw, or no --memory")


def check_for_spark(reading: Reading, to: str | None, settings: Settings) -> None:
    """Refuse flags that Spark cannot serve."""
    for flag, format in (("--format", reading.format), ("--to", to)):
        if format not in (None, "parquet"):
            raise InputError(
                f"{flag} is {format}, and --engine spark reads and writes parquet; expected parquet, or "
                "--engine local"
            )
    for flag, given, served in (
        ("--features", reading.features, "auto"),
        ("--on-bad-line", reading.on_bad_line, "raise"),
        ("--values", settings.values, "elide"),
    ):
        if given != served:
            raise InputError(f"{flag} is {given}; expected {served} with --engine spark, or --engine local")


@contextlib.contextmanager
def opened(paths: list[str], reading: Reading, threads: int | None = None) -> Iterator[Reader]:
    """Give a reader of these files that shows how far it is; refuse files that are not there."""
    check_paths(paths)
    with reading.bar("reading", total_size(paths)) as progress:
        how = {one.name: getattr(reading, one.name) for one in fields(reading) if one.name != "bar"}
        yield Reader(**how, n_jobs=threads, progress=progress)


def read(paths: list[str], reading: Reading, settings: Settings) -> Dataset:
    """Read files into memory and learn their vocabulary; warn of what was left out."""
    with opened(paths, reading, settings.threads) as reader:
        data = reader.read(paths, values=settings.values, **limits_of(settings))
    data.left_out.warn()
    return data


@contextlib.contextmanager
def read_or_store(
    paths: list[str], reading: Reading, settings: Settings
) -> Iterator[Dataset | StoredDataset]:
    """Read files into memory or, with a limit of memory, into a file for the time of the block."""
    if settings.memory is None:
        yield read(paths, reading, settings)
        return
    from chromatic.data.limit import limited
    from chromatic.data.stored import read_stored

    with limited(settings.memory, settings.cache) as limit:
        with opened(paths, reading, settings.threads) as reader:
            data = read_stored(reader, paths, limit, **limits_of(settings))
        data.left_out.warn()
        yield data


def code(paths: list[str], vocabulary: Vocabulary, reading: Reading, threads: int | None = None) -> Dataset:
    """Read files by a vocabulary; warn of what was left out."""
    with opened(paths, reading, threads) as reader:
        data = reader.read(paths, vocabulary=vocabulary)
    data.left_out.warn()
    return data


@contextlib.contextmanager
def fit_files(
    train: list[str], settings: Settings, reading: Reading, of_rows: RowFiles = NO_ROW_FILES
) -> Iterator[Fitted]:
    """Fit to files; the training rows, in memory or on disk, are there within the block."""
    from chromatic.fitting import fit
    from chromatic.fitting.sources import source_of_files

    told = of_rows.read()
    with contextlib.ExitStack() as stack:
        with opened(train, reading, settings.threads) as reader:
            reader = replace(reader, weight=settings.weight, group=settings.group)
            source = stack.enter_context(source_of_files(reader, train, settings, told=told))
            source.read()  # while the bar is shown
        yield fit(source, settings)


def write_training_rows(
    fitted: Fitted, target: Target, threads: int | None = None, *, merge: bool = False
) -> None:
    """Write the rows to train on, and warn where they are not all; merge equal ones where that is asked."""
    from chromatic.encoding.files import write_columns

    if fitted.trains is not None:
        left, of = int(fitted.trains.sum()), len(fitted.trains)
        log.warning("wrote the %s of %s rows that are left to train on", f"{left:,}", f"{of:,}")
    if merge:
        _write_merged(fitted, target, thread_count(threads))
    else:
        write_columns(fitted.rows(), fitted.encode_to_train_on, *target, thread_count(threads))


def _write_merged(fitted: Fitted, target: Target, threads: int) -> None:
    """Write each distinct row to train on once, with its weight; rows come in pieces, twice."""
    from chromatic.data.merging import BYTES_PER_ROW, merged
    from chromatic.data.stored import StoredRows
    from chromatic.data.writers import TEXT, write, write_text

    check_weights(target.format)
    if fitted.source.has_weights:
        raise InputError(
            "rows have importance weights, and --merge writes how many equal rows there are; expected one"
        )
    rows, is_text = fitted.source.rows, target.format in TEXT
    if isinstance(rows, StoredRows):
        rows.memory.check(BYTES_PER_ROW * rows.n_rows, "merging equal rows")

    def batches() -> Iterator[Batch]:
        return (
            columns.to_batch(labels, int(is_text), fold=is_text) for columns, labels in fitted.to_train_on()
        )

    before = after = 0.0

    def counted() -> Iterator[Batch]:
        nonlocal before, after
        for batch in merged(batches):
            assert batch.weights is not None
            before, after = before + batch.weights.sum(), after + batch.n_rows
            yield batch

    if is_text:
        write_text(counted(), target.path, target.format, threads)
    else:
        write(list(counted()), target.path, target.format, threads)
    log.info("merged %s rows to train on into %s", f"{before:,.0f}", f"{after:,.0f}")


def model_of(fitted: Fitted, reading: Reading) -> Model:
    """Return what was fitted as a model, whole."""
    from chromatic.model import Input, Model

    input = Input("files", label=reading.label)
    read_as = {"categorical": reading.categorical, "label": reading.label}
    parameters = fitted.settings.kept | read_as
    return Model(fitted.encoding, parameters, input, fitted.trains, fitted.class_labels, kept=fitted.kept)


def save_model(model: Model, path: str) -> None:
    """Write a model file, with the names of features where its parameters say so."""
    from chromatic.modelfile import save

    save(model, path, names=model.parameters["names"])


def reading_for(model: Model, reading: Reading) -> Reading:
    """Return how rows are read for a model: unless another is named, their label is that of its fit."""
    if reading.label is not None:
        return reading
    return replace(reading, label=model.input.label, label_needed=False)


def _read_for(model: Model, paths: list[str], reading: Reading, settings: Settings) -> list[Batch]:
    """Read rows with labels that a model is to learn from, as its own rows were read."""
    vocabulary = model.encoding.vocabulary
    with opened(paths, replace(reading_for(model, reading), label_needed=True), settings.threads) as reader:
        told: dict[str, Any] = {}
        for name in ("weight", "group"):
            told[name] = getattr(settings, name) or model.parameters.get(name)
        return replace(reader.by(vocabulary), **told).batches(paths)


def update_files(
    model: Model,
    paths: list[str],
    reading: Reading,
    settings: Settings,
    of_rows: RowFiles = NO_ROW_FILES,
    **forget: Any,
) -> Model:
    """Return a model after the rows of files; `forget` are the decay, and after how long features go."""
    from chromatic.fitting.later import MoreSource, check_update, checked_past
    from chromatic.model import updated

    checked_past(model.kept)
    check_update(**forget)
    batches = _read_for(model, paths, reading, settings)
    given = model.encoding, model.kept, batches, None, of_rows.read()
    return updated(model, MoreSource(*given, **forget, threads=settings.threads))


def fit_files_like(
    model: Model,
    paths: list[str],
    reading: Reading,
    settings: Settings,
    of_rows: RowFiles = NO_ROW_FILES,
) -> Model:
    """Return a model of the rows of files with the features, colors and parameters of another."""
    from chromatic.fitting.later import LikeSource, checked_past
    from chromatic.model import fitted_like

    checked_past(model.kept)
    batches = _read_for(model, paths, reading, settings)
    given = model.encoding, model.kept, batches, None, of_rows.read()
    return fitted_like(model, LikeSource(*given, threads=settings.threads))


def transform_files(
    paths: list[str],
    model: Model,
    target: Target,
    reading: Reading,
    threads: int | None = None,
    *,
    memory: str | None = None,
) -> None:
    """Write the rows of files as columns; unknown features are refused where the model says so."""
    from chromatic.encoding.files import transform_files

    handle_unknown = model.parameters.get("handle_unknown", "ignore")
    with opened(paths, reading_for(model, reading), threads) as reader:
        reader = reader.by(model.encoding.vocabulary)
        if memory is not None:
            reader = replace(reader, memory=Limit(parse_size(memory)))
        left_out = transform_files(reader, paths, model.encoding, *target, handle_unknown=handle_unknown)
    left_out.warn()
    schema = model.encoding.vocabulary.schema
    if schema is not None and schema.classes:
        log.info("%s", schema.line_of_classes)


def drift_files(
    paths: list[str],
    model: Model,
    reading: Reading,
    threads: int | None = None,
    *,
    window: int | None = None,
    labelled: bool = True,
) -> Drift:
    """Compare the rows of files with those that a model was fitted on, with or without their labels."""
    from chromatic.data.batch import LeftOut
    from chromatic.drift.compare import check_window, drift

    check_window(window)
    left_out = LeftOut()

    def counted(batches: Iterator[Batch]) -> Iterator[Batch]:
        nonlocal left_out
        for batch in batches:
            left_out += LeftOut.of([batch])
            yield batch if labelled else replace(batch, labels=None)

    with opened(paths, reading_for(model, reading), threads) as reader:
        reader = replace(reader.by(model.encoding.vocabulary), label_unread=not labelled)
        batches = counted(reader.stream(paths))
        found = drift(model, batches, window=window, threads=reader.threads)
    left_out.warn()
    return found


def encode_files(
    train: list[str],
    test: list[str],
    folder: str,
    *,
    settings: Settings,
    reading: Reading,
    of_rows: RowFiles = NO_ROW_FILES,
    to: str | None = None,
    merge: bool = False,
) -> None:
    """Fit to training files; write the model, the training rows and the test rows to a folder.

    With `merge`, equal training rows are one row with a weight; test rows stay as they are.
    """
    to = format_to_write("train.svm", to)
    if merge:
        check_weights(to)
        merged = "and --merge writes how many equal rows there are; expected one"
        replace(of_rows, groups=None).refuse(merged)
        if settings.weight is not None:
            raise InputError(f"--weight is {settings.weight}, {merged}")
    suffix = next(suffix for suffix, format in SUFFIXES.items() if format == to)
    model_path = os.path.join(folder, "model.chroma")
    train_rows, test_rows = (Target(os.path.join(folder, name + suffix), to) for name in ("train", "test"))
    check_fit(settings, train_rows)
    check_paths([*train, *test])
    make_folder(folder)
    for path in (model_path, train_rows.path, test_rows.path):
        check_target(path)
    with fit_files(train, settings, reading, of_rows) as fitted:
        write_training_rows(fitted, train_rows, settings.threads, merge=merge)
        model = model_of(fitted, reading)
        transform_files(test, model, test_rows, reading, settings.threads, memory=settings.memory)
        save_model(model, model_path)
