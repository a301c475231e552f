"""The rows that benchmarks run on: files that are given, or synthetic ones that they make."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from typing import Any

from chromatic._files import is_stream
from chromatic._processes import in_a_process
from chromatic.data.source import COMPRESSED, opened
from chromatic.errors import InputError
from chromatic.lab.benchmarks.measure import Size
from chromatic.lab.datasets.synthetic import check_rows, make, shape_of

SHAPE = "kdda"
SAMPLE_ROWS = 500
TEST_SHARE = 10  # one test row for so many training rows


class Files:
    """Uncompressed svmlight files of training and test rows, and a folder for files made from them."""

    def __init__(self, train: str, test: str, folder: str) -> None:
        self.train, self.test, self.folder = train, test, folder

    @cached_property
    def sizes(self) -> tuple[Size, Size]:
        """The sizes of the training file and of the test file."""
        return in_a_process(size_of, self.train), in_a_process(size_of, self.test)

    @property
    def size(self) -> Size:
        """The size of the training file."""
        return self.sizes[0]

    @cached_property
    def sample(self) -> str:
        """A file of the first training rows."""
        return head(self.train, SAMPLE_ROWS, os.path.join(self.folder, "sample.svm"))

    @cached_property
    def strings(self) -> str:
        """The training rows with a letter before each feature."""
        path = os.path.join(self.folder, "strings.svm")
        with open(self.train, "rb") as file, open(path, "wb") as out:
            for lines in iter(lambda: file.readlines(1 << 24), []):
                out.write(re.sub(rb" (?=\d+:)", b" f", b"".join(lines)))
        return path

    @cached_property
    def strings_sample(self) -> str:
        """The first rows of `strings`."""
        return head(self.strings, SAMPLE_ROWS, os.path.join(self.folder, "strings-sample.svm"))


@contextmanager
def files(train: str | None, test: str | None, rows: int, threads: int) -> Iterator[Files]:
    """Give two files: the named ones, or rows in the shape of kdda and a tenth as many test rows."""
    if (train is None) != (test is None):
        raise InputError("one of --train and --test is given; expected both")
    with tempfile.TemporaryDirectory() as folder:
        if train is not None and test is not None:
            yield Files(plain(train, folder), plain(test, folder), folder)
        else:
            yield synthetic(SHAPE, rows, folder, threads)


def synthetic(shape: str, rows: int, folder: str, threads: int) -> Files:
    """Write rows of a shape to a folder, and a tenth as many test rows that follow in time."""
    test_rows = max(1, rows // TEST_SHARE)
    check_rows(rows + test_rows)
    train, test = os.path.join(folder, f"{shape}.svm"), os.path.join(folder, f"{shape}.t.svm")
    make(shape_of(shape), train, rows, threads=threads)
    make(shape_of(shape), test, test_rows, rows, threads=threads)
    return Files(train, test, folder)


def plain(path: str, folder: str) -> str:
    """Return the path of a file; where it is compressed or a pipe, of its plain copy in a folder."""
    stem, suffix = os.path.splitext(os.path.basename(path))
    if suffix not in COMPRESSED and not is_stream(path):
        with opened(path):
            return path
    out = os.path.join(folder, stem or "rows")
    with opened(path) as file, open(out, "wb") as to:
        shutil.copyfileobj(file, to, 1 << 24)
    return out


def head(path: str, rows: int, out: str) -> str:
    """Copy the first lines of a file to another."""
    with open(path, "rb") as file, open(out, "wb") as to:
        to.writelines(islice(file, rows))
    return out


def repeated(path: str, size: int, out: str) -> str:
    """Copy a file again and again to another, until that has so many bytes."""
    with open(out, "wb") as to:
        while to.tell() < size:
            with open(path, "rb") as file:
                shutil.copyfileobj(file, to, 1 << 24)
    return out


def size_of(path: str) -> Size:
    """Count the rows, the nonzeros and the bytes of a file."""
    from chromatic.data import Reader

    batches = Reader().batches(path)
    nonzeros = sum(len(batch.ids) for batch in batches)
    return Size(sum(batch.n_rows for batch in batches), nonzeros, os.path.getsize(path))


def token_lists(path: str, most: int) -> tuple[list[list[str]], list[float]]:
    """Return the features of the first rows as lists of strings, and their labels."""
    rows, labels = [], []
    with open(path) as file:
        for line in islice(file, most):
            label, *features = line.split()
            rows.append([feature.split(":", 1)[0] for feature in features])
            labels.append(float(label))
    return rows, labels


def heavy_tail(rows: int, features: int, per_row: int = 32, seed: int = 0) -> Any:
    """Return a matrix with `per_row` features a row on average, of a heavy tail; 32 make some 300 pairs."""
    import numpy as np
    from scipy.sparse import csr_array

    random = np.random.default_rng(seed)
    lengths = random.poisson(per_row, rows)
    ids = (features ** random.random(lengths.sum())).astype(np.int64)
    places = np.repeat(np.arange(rows), lengths), ids
    return csr_array((np.ones(len(ids)), places), shape=(rows, features + 1)) > 0


def write_heavy_tail(path: str, rows: int, features: int) -> None:
    """Write the rows of `heavy_tail` to a file, without labels."""
    from chromatic.data import Reader
    from chromatic.data.writers import write

    write(Reader().batches(heavy_tail(rows, features)), path)


def write_npm_sample(folder: str) -> tuple[str, str]:
    """Write the package names that come with the project to svmlight files of integer features."""
    from chromatic.lab.datasets.npm import load_npm_names

    numbers: dict[str, int] = {}
    paths = os.path.join(folder, "npm.svm"), os.path.join(folder, "npm.t.svm")
    for path, part in zip(paths, load_npm_names(), strict=True):
        with open(path, "w") as file:
            for label, row in zip(part.labels, part.rows, strict=True):
                ids = sorted({numbers.setdefault(name, len(numbers) + 1) for name in row})
                file.write(f"{label} {' '.join(f'{number}:1' for number in ids)}\n")
    return paths
