"""`chromatic`: the commands, and the one place where errors become exit codes."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import click

import chromatic
from chromatic._room import is_lack_of_memory
from chromatic.cli import (
    benchmark,
    convert,
    datasets,
    demo,
    describe,
    drift,
    evaluate,
    fit,
    graph,
    inspect,
    options,
    report,
    reproduce,
    run,
    serve,
    transform,
    tune,
    update,
    warmup,
)
from chromatic.cli.terminal import say, tell_of_compiling, visible
from chromatic.errors import InputError, InputWarning


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Turn errors into one line and an exit code.

    0 done, 2 the input or the call is wrong, 3 more drift than is allowed, 1 anything else; as shells have
    it, 141 where the reader of the output went away, and 130 interrupted (`chromatic.cli.run`).
    """
    try:
        yield
    except InputError as error:
        _fail(str(error), 2)
    except click.UsageError as error:
        _fail(_one_line(error), 2)
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        _forget_output()
        sys.exit(141)
    except Exception as error:
        _forget_output()
        if not isinstance(error, OSError) or is_lack_of_memory(error):
            raise  # `chromatic.cli.run` tells the lack of memory
        _fail(str(error), 1)


def _one_line(error: click.UsageError) -> str:
    """Return what is wrong with a call, and where its flags are explained."""
    message = " ".join(error.format_message().split()).rstrip(".")
    path = "chromatic" if error.ctx is None else error.ctx.command_path
    return f"{message[:1].lower()}{message[1:]}; expected a call as in {path} --help"


def _give_back_memory() -> None:
    """Let the C library give the memory of freed arrays back to the system.

    It would keep that of arrays up to 32 MB, and the most memory that a job holds would be a third more.
    For each thread it would reserve 64 MB or more of addresses, which a limit on them counts as used.
    """
    import ctypes

    with contextlib.suppress(AttributeError, OSError):  # not glibc
        library = ctypes.CDLL(None)
        library.mallopt(-3, 4 << 20)  # M_MMAP_THRESHOLD, fixed
        library.mallopt(-1, 64 << 20)  # M_TRIM_THRESHOLD: what every piece of rows needs is kept
        library.mallopt(-8, 1)  # M_ARENA_MAX


@contextlib.contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Write our warnings as we write what is logged; those of others stay as they are."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def tell(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, InputWarning):
                logging.getLogger("chromatic").warning("%s", message)
            else:
                show(message, category, *where, **more)

        warnings.showwarning = tell
        yield


def _forget_output() -> None:
    """Let Python not try again, at its end, to write what could not be written."""
    with contextlib.suppress(AttributeError, OSError, ValueError):  # closed, or none of the system's
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> NoReturn:
    print(visible(f"chromatic: {message}"), file=sys.stderr)
    sys.exit(code)


def _open_closed_streams() -> None:
    """Let no file that is opened take the number of a standard stream that is closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")


class Program(click.Group):
    """The program: its flags and commands are guarded, and listed in the order in which one meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def main(  # type: ignore[override] # click's has flags for how it ends
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **named: Any
    ) -> None:
        """Run the command that the arguments name; click itself would end it in ways of its own."""
        _open_closed_streams()
        _give_back_memory()
        given = sys.argv[1:] if args is None else list(args)
        with guarded(), _warnings_in_one_line(), self.make_context(prog_name or "chromatic", given) as ctx:
            self.invoke(ctx)


class _Formatter(logging.Formatter):
    """A line for people; with -v, when it was said, and how much memory the process has then."""

    def __init__(self, verbose: bool) -> None:
        super().__init__()
        self.verbose = verbose

    def format(self, record: logging.LogRecord) -> str:
        from chromatic._files import used_memory

        when = (
            f"{record.relativeCreated / 1000:8.1f} s {used_memory() >> 20:7,} MB  " if self.verbose else ""
        )
        return visible(f"chromatic: {when}{record.getMessage()}")


def _print_version(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    if asked:
        say(f"chromatic {chromatic.__version__}")
        ctx.exit()


def _help_if_alone(ctx: click.Context) -> None:
    """Without a command, tell which there are."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)


@click.group("chromatic", cls=Program, invoke_without_command=True)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version.",
)
@click.option("-v", "--verbose", is_flag=True, help="Say what happens.")
@click.pass_context
def app(ctx: click.Context, verbose: bool) -> None:
    """A few hundred meaningful columns from millions of sparse features."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter(verbose))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])
    if sys.stderr.isatty():
        tell_of_compiling()
    _help_if_alone(ctx)


@app.group("datasets", invoke_without_command=True)
@click.pass_context
def _datasets(ctx: click.Context) -> None:
    """The paper's data sets: list them, get them, make data like them."""
    _help_if_alone(ctx)


for command in (
    demo.demo,
    describe.describe,
    convert.convert,
    graph.graph,
    fit.fit,
    fit.encode,
    tune.tune,
    update.update,
    update.merge,
    transform.transform,
    inspect.inspect,
    evaluate.evaluate,
    report.report,
    drift.drift,
    serve.serve,
    reproduce.reproduce,
    benchmark.benchmark,
    warmup.warmup,
):
    app.command(cls=options.Command)(command)
for name, command in (("list", datasets.list_), ("get", datasets.get), ("make", datasets.make)):
    _datasets.command(name, cls=options.Command)(command)


def main() -> None:
    """Run the command that the arguments name."""
    app(prog_name="chromatic")


if __name__ == "__main__":
    run(main)
