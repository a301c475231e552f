"""`chromatic`: the commands, and the one place where errors become exit codes."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import click

import chromatic
from chromatic.cli import (
    benchmark,
    convert,
    datasets,
    demo,
    describe,
    evaluate,
    fit,
    graph,
    inspect,
    options,
    report,
    reproduce,
    transform,
    warmup,
)
from chromatic.errors import MORE_MEMORY, InputError


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Turn errors into one line and an exit code.

    0 done, 2 the input or the call is wrong, 1 anything else; as shells have it, 130 interrupted and 141
    where the reader of the output went away.
    """
    try:
        yield
    except InputError as error:
        _fail(str(error), 2)
    except click.UsageError as error:
        _fail(_one_line(error), 2)
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (MemoryError, OSError, ImportError) as error:
        if _is_lack_of_memory(error):
            _fail(f"memory ran out; {MORE_MEMORY}", 1)
        if isinstance(error, ImportError):
            raise
        _fail(str(error), 1)


def _one_line(error: click.UsageError) -> str:
    """Return what is wrong with a call, and where its flags are explained."""
    message = " ".join(error.format_message().split()).rstrip(".")
    path = "chromatic" if error.ctx is None else error.ctx.command_path
    return f"{message[:1].lower()}{message[1:]}; expected a call as in {path} --help"


def _is_lack_of_memory(error: Exception) -> bool:
    """Of an array, of the system, or of a library that is imported when it is first used."""
    of_system = isinstance(error, OSError) and error.errno == errno.ENOMEM
    of_library = isinstance(error, ImportError) and "failed to map segment" in str(error)
    return isinstance(error, MemoryError) or of_system or of_library


def _give_back_memory() -> None:
    """Let the C library give the memory of freed arrays back to the system.

    It would keep that of arrays up to 32 MB, and the most memory that a job holds would be a third more.
    """
    import ctypes

    with contextlib.suppress(AttributeError, OSError):  # not glibc
        ctypes.CDLL(None).mallopt(-3, 4 << 20)  # M_MMAP_THRESHOLD, fixed


def _fail(message: str, code: int) -> NoReturn:
    print(f"chromatic: {message}", file=sys.stderr)
    sys.exit(code)


class Program(click.Group):
    """The program: its flags and commands are guarded, and listed in the order in which one meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def make_context(self, *given: Any, **named: Any) -> click.Context:
        """Read the flags that stand before the command."""
        with guarded():
            return super().make_context(*given, **named)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        _give_back_memory()
        with guarded():
            return super().invoke(ctx)


class _WithTimeAndMemory(logging.Formatter):
    """When each step was done, and how much memory the process has then."""

    def format(self, record: logging.LogRecord) -> str:
        from chromatic._files import used_memory

        seconds, used = record.relativeCreated / 1000, used_memory() >> 20
        return f"chromatic: {seconds:8.1f} s {used:7,} MB  {record.getMessage()}"


def _print_version(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    if asked:
        print(f"chromatic {chromatic.__version__}")
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
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="chromatic: %(message)s")
    if verbose:
        logging.getLogger().handlers[0].setFormatter(_WithTimeAndMemory())
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
    transform.transform,
    inspect.inspect,
    evaluate.evaluate,
    report.report,
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
    main()
