"""The flags that commands share. Flags that are parameters come from the table `SHARED`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from chromatic._parameter import Parameter
from chromatic.cli.terminal import progress_bar
from chromatic.errors import InputError
from chromatic.parameters import READING, ROWS, SHARED, Settings

if TYPE_CHECKING:
    from chromatic._paths import RowFiles
    from chromatic.jobs import Reading

WRITE_FORMATS = ("svmlight", "vw", "parquet", "npz")
_NUMBERS: dict[type, str] = {int: "a whole number", float: "a number"}

Function = Callable[..., None]
Decorator = Callable[[Function], Function]


class Value(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4 only
    """A number, one of some words, or either; anything else is refused with what is allowed."""

    name = "value"

    def __init__(self, number: type | None, words: Sequence[str]) -> None:
        self.number, self.words = number, words

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return what stands behind the flag in the help."""
        words = [] if self.number is None else ["INTEGER" if self.number is int else "NUMBER"]
        return "|".join([*words, *self.words])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number or the word; a number's range is checked by what uses it."""
        if not isinstance(value, str) or value in self.words:
            return value
        if self.number is not None:
            with suppress(ValueError):
                return self.number(value)
        flag = "the value" if param is None else max(param.opts, key=len)
        raise InputError(f"{flag} is {value!r}; expected {self._allowed}")

    @property
    def _allowed(self) -> str:
        *others, last = [*([] if self.number is None else [_NUMBERS[self.number]]), *self.words]
        return f"{', '.join(others)} or {last}" if others else last


class Columns(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4 only
    """Names of columns between commas, or one of some words."""

    name = "columns"

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return what stands behind the flag in the help."""
        return "|".join(["NAME,...", *self.words])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word, or the list of names; none where the text is empty."""
        if not isinstance(value, str) or value in self.words:
            return value
        return [name for name in value.split(",") if name]


class Option(click.Option):
    """A flag, and the section of the help that shows it."""

    def __init__(self, *given: Any, section: str = "Options", **others: Any) -> None:
        super().__init__(*given, **others)
        self.section = section


class Argument(click.Argument):
    """A positional argument that the help explains."""

    section = "Arguments"

    def __init__(self, *given: Any, sentence: str, **others: Any) -> None:
        super().__init__(*given, **others)
        self.sentence = sentence

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return the argument's name and its sentence."""
        return self.human_readable_name + ("..." if self.nargs == -1 else ""), self.sentence


class Command(click.Command):
    """A command whose help shows the flags in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each group of flags."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)


def argument(name: str, sentence: str, *, several: bool = False, required: bool = True) -> Decorator:
    """Add a positional argument; several are handed on as a list."""
    more: dict[str, Any] = {"nargs": -1, "callback": _as_list} if several else {}
    return click.argument(name, cls=Argument, sentence=sentence, required=required, **more)


def option(
    *names: str,
    help: str,
    section: str = "Options",
    number: type | None = None,
    words: Sequence[str] = (),
    several: bool = False,
    **others: Any,
) -> Decorator:
    """Add a flag that takes a number, words or a text; several are handed on as a list."""
    if several:
        others |= {"multiple": True, "callback": _as_list}
    if number is not None or words:
        others["type"] = Value(number, words)
    if others.get("default") is None:
        others.pop("default", None)  # click takes a default of None for a value that was given
    shown = "default" in others and (not others.get("is_flag") or "/" in names[0])
    return click.option(*names, cls=Option, section=section, help=help, show_default=shown, **others)


def _as_list(ctx: click.Context, param: click.Parameter, value: tuple[Any, ...]) -> list[Any]:
    return list(value)


def _none_unless_given(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    given = ctx.get_parameter_source(param.name or "") is not click.core.ParameterSource.DEFAULT
    return value if given else None


def gathered(name: str, make: Callable[..., Any], flags: dict[str, Decorator]) -> Decorator:
    """Add flags that the command gets as one object, which `make` makes from them."""

    def decorate(command: Function) -> Function:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            whole = make(**{flag: given.pop(flag) for flag in flags})
            command(**given, **{name: whole})

        for add in reversed(flags.values()):
            add(run)
        return run

    return decorate


def parameters(*chosen: str) -> Decorator:
    """Add the flags of these parameters, or groups of them; the command gets `settings`."""
    rows = [row for row in SHARED if row.name != "verbose" and {row.name, row.group} & {*chosen}]
    return gathered("settings", Settings, {row.name: _flag_of(row) for row in rows})


def _flag_of(row: Parameter) -> Decorator:
    told: dict[str, Any] = {"help": row.sentence, "section": row.group, "default": row.default}
    if list in row.kinds:
        return option(row.flag, type=Columns(row.choices), **told)
    if row.switch is not None:
        return option(row.flag, row.name, flag_value=row.switch, **told)
    if bool in row.kinds and row.default is None:
        return option(f"{row.flag}/--no-{row.flag[2:]}", is_flag=True, callback=_none_unless_given, **told)
    if bool in row.kinds:
        return option(f"{row.flag}/--no-{row.flag[2:]}", is_flag=True, **told)
    number = next((kind for kind in row.kinds if kind in _NUMBERS), None)
    return option(row.flag, number=number, words=row.choices, **told)


def _reading(**given: Any) -> Reading:
    from chromatic.jobs import Reading

    return Reading(**given, bar=progress_bar)


reading = gathered(
    "reading",
    _reading,
    {
        **{row.name: _flag_of(row) for row in SHARED if row.group == READING},
        "features": option(
            "--features",
            words=("auto", "integer", "string"),
            default="auto",
            section="Reading",
            help="The features of text: integer (anything else is an error), string, or told by the data.",
        ),
        "on_bad_line": option(
            "--on-bad-line",
            words=("raise", "skip"),
            default="raise",
            section="Reading",
            help="What a bad line does: end the command with an error, or be skipped and counted.",
        ),
    },
)


def _row_files(**given: Any) -> RowFiles:
    from chromatic._paths import RowFiles

    return RowFiles(**given)


of_rows = gathered(
    "of_rows",
    _row_files,
    {
        "weights": option(
            "--weights",
            section=ROWS,
            help="A file with the weight of each training row, a number a line.",
        ),
        "groups": option(
            "--groups",
            section=ROWS,
            help="A file with the group of each training row, one a line; rows of a group share a fold.",
        ),
    },
)


@dataclass(frozen=True)
class Engine:
    """Where a command runs."""

    engine: str
    master: str | None
    input_col: list[str]

    @property
    def is_spark(self) -> bool:
        return self.engine == "spark"


engine = gathered(
    "engine",
    Engine,
    {
        "engine": option(
            "--engine",
            words=("local", "spark"),
            default="local",
            section="Engine",
            help="Where the command runs; with spark, data is Parquet, on any path that Spark knows.",
        ),
        "master": option(
            "--master",
            section="Engine",
            help="The master of Spark, such as spark://host:7077; by default as configured.",
        ),
        "input_col": option(
            "--input-col",
            several=True,
            section="Engine",
            help="With spark, the column of features, by default features; given several times, the "
            "columns of a table; * is all columns but those of label, weight and group.",
        ),
    },
)


def inputs(name: str = "inputs") -> Decorator:
    """Add the files that a command reads."""
    return argument(name, "Files, one data set in their order; - is standard input.", several=True)


model = argument("model", "A model file that `chromatic fit` wrote.")


def output(sentence: str, *aliases: str, **others: Any) -> Decorator:
    """Add `-o` and `--output`, required where there is no default."""
    others.setdefault("required", "default" not in others)
    return option("-o", "--output", *aliases, "output", help=sentence, section="Output", **others)


to = option(
    "--to",
    words=WRITE_FORMATS,
    section="Output",
    help="The format to write; by default told by the suffix.",
)
device = option(
    "--device", default="cpu", section="Running", help="Where networks are trained: a device of torch."
)
as_json = option("--json", "as_json", is_flag=True, default=False, section="Output", help="Print JSON.")
