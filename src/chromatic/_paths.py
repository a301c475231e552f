"""Files that commands name: whether they are there, and what small ones tell of training rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chromatic._files import is_stream
from chromatic.errors import InputError, in_file

if TYPE_CHECKING:
    from chromatic.fitting.labels import OfRows


def check_paths(paths: list[str]) -> None:
    """Refuse files that are not there, before the work on others."""
    if paths.count("-") > 1:
        raise InputError("standard input (-) is named twice; expected it once at most")
    for i, path in enumerate(paths):
        if path == "-":
            continue
        if not os.path.exists(path):
            raise in_file(path, None, "no such file; check the path")
        if is_stream(path) and any(os.path.samefile(path, other) for other in paths[:i] if other != "-"):
            raise in_file(path, None, "is named twice, and a pipe can be read once; expected a file")


@dataclass(frozen=True)
class RowFiles:
    """Files that tell of training rows what their own files do not, a line a row."""

    weights: str | None = None
    groups: str | None = None

    def read(self) -> OfRows:
        """Return what they tell."""
        from chromatic.fitting.labels import OfRows

        weights = None if self.weights is None else _numbers_of(self.weights)
        groups = None if self.groups is None else [line for _, line in _lines_of(self.groups)]
        return OfRows(weights, groups)

    def refuse(self, why: str) -> None:
        """Refuse weights and groups where they have no place."""
        for flag, path in (("--weights", self.weights), ("--groups", self.groups)):
            if path is not None:
                raise InputError(f"{flag} is {path}, {why}")


NO_ROW_FILES = RowFiles()


def _lines_of(path: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a small text file with their numbers, an empty one as an error."""
    check_paths([path])
    with open(path, encoding="utf-8", errors="backslashreplace") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                raise in_file(path, number, "is empty; expected a line for each training row")
            yield number, line.strip()


def _numbers_of(path: str) -> list[float]:
    """Return the numbers of a file, one a line."""
    numbers = []
    for at, line in _lines_of(path):
        try:
            numbers.append(float(line))
        except ValueError as error:
            raise in_file(path, at, f"{line[:40]!r} is no number; expected one a line") from error
    return numbers
