"""The flags that commands share, and the reader that they make."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from chromatic.data import Dataset, Reader
    from chromatic.data.batch import LeftOut
    from chromatic.data.stored import StoredDataset
    from chromatic.data.vocabulary import Vocabulary
    from chromatic.encoding.fitting import Encoding, Fitted, Settings

log = logging.getLogger("chromatic")

Inputs = Annotated[
    list[str], typer.Argument(help="Files, one data set in their order; - is standard input.")
]
Output = Annotated[str, typer.Option("-o", "--output", help="The file to write; - is standard output.")]
To = Annotated[
    str | None, typer.Option(help="svmlight, vw, parquet or npz; by default told by the suffix.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class Reading:
    """The flags of every command that reads data."""

    format: Annotated[
        str | None,
        typer.Option(
            help="svmlight, vw, tokens, parquet, arrow, csv, tsv, criteo or npz; by default told by suffix "
            "and content."
        ),
    ] = None
    features: Annotated[
        str, typer.Option(help="Features of text: auto, integer (anything else is an error), or string.")
    ] = "auto"
    label: Annotated[
        str | None, typer.Option(help="The label's column in a table; by default 'label'.")
    ] = None
    on_bad_line: Annotated[str, typer.Option(help="raise, or skip bad lines and say how many.")] = "raise"
    threads: Annotated[int | None, typer.Option(help="Threads; by default all cores.")] = None

    def check_paths(self, paths: list[str]) -> None:
        """Refuse files that are not there, before the work on others."""
        from chromatic.errors import InputError, in_file

        if paths.count("-") > 1:
            raise InputError("standard input (-) is named twice; expected it once at most")
        for path in paths:
            if path != "-" and not os.path.exists(path):
                raise in_file(path, None, "no such file; check the path")

    @contextlib.contextmanager
    def reader(self, paths: list[str]) -> Iterator[Reader]:
        """A reader with these flags that shows on a terminal how far it is."""
        from chromatic.data import Reader
        from chromatic.data.source import total_size

        self.check_paths(paths)
        with progress_bar("reading", total_size(paths)) as progress:
            yield Reader(
                self.format,
                self.features,
                self.label,
                self.on_bad_line,
                n_jobs=self.threads,
                progress=progress,
            )

    def code(self, paths: list[str], vocabulary: Vocabulary) -> Dataset:
        """Read data by a vocabulary, and say what was left out."""
        with self.reader(paths) as reader:
            data = reader.read(paths, vocabulary=vocabulary)
        say_what_was_left_out(data.left_out)
        return data

    def transform(self, paths: list[str], encoding: Encoding, output: str, to: str) -> None:
        """Write the rows of files as columns, and say what was left out."""
        from chromatic.encoding.files import transform_files

        with self.reader(paths) as reader:
            left_out = transform_files(reader, paths, encoding, output, to)
        say_what_was_left_out(left_out)


@dataclass(frozen=True)
class Limits:
    """The flags that tell dense features from sparse ones."""

    dense_threshold: Annotated[
        float, typer.Option(help="A feature in more than this share of the rows is dense.")
    ] = 0.1
    min_count: Annotated[int, typer.Option(help="Drop sparse features found in fewer rows.")] = 1


@dataclass(frozen=True)
class Learning(Limits):
    """The flags of a vocabulary that is learned."""

    values: Annotated[
        str, typer.Option(help="Values of sparse features: elide, or distinct (each its own feature).")
    ] = "elide"


@dataclass(frozen=True)
class Fitting(Learning):
    """The flags of an encoding that is fitted: the parameters of `ChromaticEncoder`."""

    budget: Annotated[int, typer.Option(help="The most columns, the dense ones included.")] = 1024
    encoding: Annotated[str, typer.Option(help="submodular, target, frequency, identity.")] = "submodular"
    coloring: Annotated[str, typer.Option(help="balanced, first-fit, random, uniform or fields.")] = (
        "balanced"
    )
    max_colors: Annotated[
        str | None,
        typer.Option(help="A number, proper, or paper; by default what suits the budget."),
    ] = None
    min_edge_count: Annotated[
        int, typer.Option(help="Pairs of features seen in fewer rows may share a color.")
    ] = 1
    leakage: Annotated[str, typer.Option(help="crossfit, split or none.")] = "crossfit"
    folds: Annotated[int, typer.Option(help="Of crossfit.")] = 5
    split_rate: Annotated[int, typer.Option(help="Of split: 2^-rate of the rows estimate.")] = 1
    smoothing: Annotated[str, typer.Option(help="auto, or a pseudo-count of the overall rate.")] = "auto"
    quantizer: Annotated[str, typer.Option(help="optimal, greedy or sort.")] = "optimal"
    null: Annotated[str, typer.Option(help="drop, or emit a column for an absent color.")] = "drop"
    min_gain: Annotated[
        float | None, typer.Option(help="Nats that a column must tell; by default ln(rows) / 2.")
    ] = None
    unestimated: Annotated[
        str, typer.Option(help="A feature that no row estimates counts as: prior, or null.")
    ] = "prior"
    names: Annotated[bool, typer.Option(help="Keep the names of string features in the model.")] = True
    seed: Annotated[int, typer.Option(help="Of folds, halves and random colors.")] = 0
    memory: Annotated[
        str | None,
        typer.Option(help="Keep within so much, such as 8G: rows are parsed into a cache on disk."),
    ] = None
    cache: Annotated[
        str | None, typer.Option(help="The folder of that cache; by default in the user's.")
    ] = None

    @property
    def settings(self) -> Settings:
        """The flags as settings, checked."""
        from chromatic.encoding.fitting import Settings

        given = {field.name: getattr(self, field.name) for field in fields(Settings)}
        given["max_colors"] = number_or_word(self.max_colors)
        given["smoothing"] = number_or_word(self.smoothing, float)
        return Settings(**given)

    @property
    def parameters(self) -> dict[str, Any]:
        """The flags as `ChromaticEncoder` names them."""
        chosen = asdict(self.settings) | {
            "dense_threshold": self.dense_threshold,
            "min_count": self.min_count,
            "names": self.names,
        }
        chosen["random_state"] = chosen.pop("seed")
        return chosen

    def check(self, *formats: str | None) -> None:
        """Refuse, before any work, flags that make no sense, and what --memory cannot hold to."""
        from chromatic.errors import InputError

        settings = self.settings
        if self.memory is None:
            if self.cache is not None:
                raise InputError("--cache is of no use without --memory; expected both, or neither")
            return
        settings.check_for_disk()
        if self.values != "elide":
            raise InputError(f"--values {self.values} needs all rows in memory; expected no --memory")
        for format in formats:
            if format in ("parquet", "npz"):
                raise InputError(f"{format} is held as a whole; expected svmlight, vw, or no --memory")

    @contextlib.contextmanager
    def fit(self, train: list[str], reading: Reading) -> Iterator[Fitted]:
        """Read data, say what was left out, and fit; the training rows are there within the block."""
        from chromatic.encoding.fitting import as_zero_and_one, fit

        settings = self.settings
        with contextlib.ExitStack() as stack:
            with reading.reader(train) as reader:
                data = self._read(reader, train, stack)
            say_what_was_left_out(data.left_out)
            labels = data.rows.labels
            y = None if labels is None else as_zero_and_one(labels)
            yield fit(data, y, settings, reader.threads)

    def _read(
        self, reader: Reader, train: list[str], stack: contextlib.ExitStack
    ) -> Dataset | StoredDataset:
        learning: dict[str, Any] = {
            "dense_threshold": self.dense_threshold,
            "min_count": self.min_count,
            "keep_names": self.names,
            "keep_fields": self.coloring == "fields",
        }
        if self.memory is None:
            return reader.read(train, values=self.values, **learning)
        from chromatic.data.limit import limited
        from chromatic.data.stored import read_stored

        return read_stored(reader, train, stack.enter_context(limited(self.memory, self.cache)), **learning)


@dataclass(frozen=True)
class Engine:
    """The flags that say where a command runs."""

    engine: Annotated[
        str,
        typer.Option(help="local, or spark: then data is Parquet, on any path of Spark's."),
    ] = "local"
    master: Annotated[
        str | None,
        typer.Option(help="Spark's master, as in spark://host:7077; by default as configured."),
    ] = None
    input_col: Annotated[str, typer.Option(help="With spark, the column of features.")] = "features"

    @property
    def is_spark(self) -> bool:
        from chromatic.errors import InputError

        if self.engine not in ("local", "spark"):
            raise InputError(f"the engine is {self.engine!r}; expected local or spark")
        return self.engine == "spark"


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """A command in whose signature a parameter of a class of flags becomes those flags.

    typer reads flags from signatures; so that each is written once, commands take groups of them.
    """
    groups, parameters = {}, []
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = hints[name]
            flags = get_type_hints(hints[name], include_extras=True)
            parameters += [
                inspect.Parameter(
                    flag.name, parameter.kind, default=flag.default, annotation=flags[flag.name]
                )
                for flag in fields(hints[name])
            ]
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        if Reading in groups.values():
            _start_numba()
        for name, group in groups.items():
            given[name] = group(**{flag.name: given.pop(flag.name) for flag in fields(group)})
        command(**given)

    parameters.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _start_numba() -> None:
    """Import Numba without scipy.linalg, which it asks for BLAS: no kernel of ours needs it.

    That is a seventh of what a command takes to start. Only commands may do it: in a user's process,
    other kernels may call np.dot.
    """
    asked = "scipy.linalg.cython_blas"
    if "numba" in sys.modules or asked in sys.modules:
        return
    sys.modules[asked] = None  # type: ignore[assignment]
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules[asked]


@contextlib.contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Any]:
    """A bar of bytes on a terminal, and nothing on a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)


def number_or_word(text: str | None, kind: type[Any] = int) -> Any:
    """A flag that takes a number or a word; what is neither number nor known is refused later."""
    try:
        return None if text is None else kind(text)
    except ValueError:
        return text


def size_of(data: Dataset) -> dict[str, Any]:
    """The paper's figures of a data set; those of nnz are of sparse features only."""
    if data.rows.labels is None:
        log.warning("the rows have no labels; in a table, --label names their column")
    if not len(data.vocabulary) and data.vocabulary.dense_names:
        log.warning("all features are dense; a higher --dense-threshold makes them sparse")
    return {
        "rows": data.rows.n_rows,
        "dense_features": len(data.vocabulary.dense_names),
        "sparse_features": len(data.vocabulary),
        "avg_nnz": data.rows.average_nnz,
        "max_nnz": data.rows.largest_nnz,
    }


def show(figures: dict[str, Any], as_json: bool) -> None:
    """Print figures, a line each or as JSON."""
    if as_json:
        print(json.dumps(figures))
        return
    width = max([22, *(len(name) + 1 for name in figures)])
    for name, value in figures.items():
        print(f"{name.replace('_', ' '):<{width}}{shown(value):>15}")


def shown(value: Any) -> str:
    """A figure as people write it."""
    if value is None:
        return "-"
    if isinstance(value, float):
        digits = 7 if 0.9995 <= value < 1 else 4  # a share close to all is not all
        return f"{value:,.{digits}g}" if abs(value) < 10_000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def say_what_was_left_out(what: LeftOut) -> None:
    """Nothing is dropped silently."""
    for sentence in what.sentences():
        log.warning(sentence)
