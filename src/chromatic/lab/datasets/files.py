"""Files of synthetic rows: training rows, and test rows that follow in time."""

from __future__ import annotations

import os

from chromatic._files import check_target
from chromatic.data.writers import format_to_write
from chromatic.errors import InputError
from chromatic.lab.datasets import synthetic
from chromatic.lab.datasets.fetch import Bar


def make_files(
    shape: str, output: str, *, rows: int, test_rows: int, seed: int, threads: int, bar: Bar
) -> None:
    """Write rows of a shape to a file, and so many test rows to a second one; check all before."""
    made = synthetic.shape_of(shape)
    if test_rows < 0:
        raise InputError(f"the test rows are {test_rows}; expected 0 or more")
    jobs = [(output, rows, 0)]
    if test_rows:
        jobs.append((test_path(output), test_rows, rows))
    for path, count, first in jobs:
        synthetic.check_rows(count, first, seed)
        if path != "-":
            if format_to_write(path) != "svmlight":
                raise InputError(f"{path}: would be svmlight text; expected a name such as {shape}.svm")
            check_target(path)
    for path, count, first in jobs:
        size = synthetic.expected_bytes(made, count, first, seed)
        with bar(f"making {os.path.basename(path)}", size) as progress:
            synthetic.make(made, path, count, first, seed=seed, threads=threads, progress=progress)


def test_path(path: str) -> str:
    """Return where test rows go, as LIBSVM names them.

    >>> test_path("here/kdda.svm.gz")
    'here/kdda.t.svm.gz'
    """
    if path == "-":
        raise InputError("test rows need a file of their own; expected -o FILE, not -")
    folder, name = os.path.split(path)
    stem, dot, suffixes = name.partition(".")
    return os.path.join(folder, f"{stem}.t{dot}{suffixes}")
