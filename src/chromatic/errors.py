"""The one error that users are meant to see, and the one warning.

The message of the error has three parts: what was received, what is allowed, what to do.
The command line prints it as one line and exits with 2.
"""

from __future__ import annotations

MORE_MEMORY = "give the process more, or let it work from disk with --memory"
MEMORY_RAN_OUT = f"memory ran out; {MORE_MEMORY}"


class InputError(ValueError):
    """The input, or the call, is wrong; the message says how, and what to do."""


class InputWarning(UserWarning):
    """What came is taken, but hardly what was meant; the message says what to do.

    The command line prints it as one line.
    """


def in_file(path: str, line: int | None, problem: str) -> InputError:
    """An `InputError` that names the file and, where one is known, the line.

    >>> print(in_file("train.svm", 3, "the label is 'x'; expected a number"))
    train.svm, line 3: the label is 'x'; expected a number
    """
    where = path if line is None else f"{path}, line {line:,}"
    return InputError(f"{where}: {problem}")
