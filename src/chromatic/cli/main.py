"""`chromatic`: the commands, and the one place where errors become exit codes."""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

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

app = typer.Typer(
    help="A few hundred meaningful columns from millions of sparse features.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose errors become one line and an exit code.

    0 done, 2 the input or the call is wrong, 1 anything else; as shells have it, 130 interrupted and 141
    where the reader of the output went away.
    """

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        _give_back_memory()
        try:
            command(*args, **kwargs)
        except InputError as error:
            _fail(str(error), 2)
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

    return run


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


def _fail(message: str, code: int) -> None:
    print(f"chromatic: {message}", file=sys.stderr)
    sys.exit(code)


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
    app.command()(guarded(options.expanded(command)))

_datasets = typer.Typer(
    help="The paper's data sets: list them, get them, make data like them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(_datasets, name="datasets")
for one in (datasets.list_, datasets.get, datasets.make):
    _datasets.command(one.__name__.rstrip("_"))(guarded(options.expanded(one)))


def _version(asked: bool) -> None:
    if asked:
        print(f"chromatic {chromatic.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what happens.")] = False,
) -> None:
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="chromatic: %(message)s")
    if verbose:
        logging.getLogger().handlers[0].setFormatter(_WithTimeAndMemory())


class _WithTimeAndMemory(logging.Formatter):
    """When each step was done, and how much memory the process has then."""

    def format(self, record: logging.LogRecord) -> str:
        from chromatic._files import used_memory

        seconds, used = record.relativeCreated / 1000, used_memory() >> 20
        return f"chromatic: {seconds:8.1f} s {used:7,} MB  {record.getMessage()}"


def main() -> None:
    """Run the command that the arguments name."""
    app(prog_name="chromatic")


if __name__ == "__main__":
    main()
