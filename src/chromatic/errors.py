"""The one error that users are meant to see.

Its message has three parts: what was received, what is allowed, what to do.
The command line prints it as one line and exits with 2.
"""

from __future__ import annotations

MORE_MEMORY = "give the process more, or let it work from disk with --memory"


class InputError(ValueError):
    """The input, or the call, is wrong; the message says how, and what to do."""


def in_file(path: str, line: int | None, problem: str) -> InputError:
    """An `InputError` that names the file and, where one is known, the line.

    >>> print(in_file("train.svm", 3, "the label is 'x'; expected a number"))
    train.svm, line 3: the label is 'x'; expected a number
    """
    where = path if line is None else f"{path}, line {line:,}"
    return InputError(f"{where}: {problem}")
