"""`chromatic warmup`: compile every kernel of the main way, once, where the next process finds it."""

from __future__ import annotations

import os
import tempfile
import time

from chromatic.cli import terminal
from chromatic.parameters import Settings
from chromatic.registry import ENCODINGS

ROWS = 60


def warmup() -> None:
    """Compile what reading, fitting, encoding and writing need, so that no later command waits for it.

    For images of containers: the machine code is kept beside the package, or in NUMBA_CACHE_DIR.

    Example: chromatic warmup
    """
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for integers in (True, False):
            train = os.path.join(folder, f"{'integers' if integers else 'strings'}.svm")
            with open(train, "w") as file:
                file.writelines(_lines(integers))
            for encoding in ENCODINGS:
                _run(train, os.path.join(folder, "columns"), encoding)
    from chromatic._kernel import Counts

    seconds = time.perf_counter() - start
    terminal.say(
        f"{Counts.compiled} kernels compiled and {Counts.found} found in the cache, in {seconds:.1f} s"
    )


def _lines(integers: bool) -> list[str]:
    """Rows that go every way: a dense feature with values, frequent ones, rare ones, a long row."""
    name = "{}" if integers else "f{}"
    lines = []
    for i in range(ROWS):
        features = [100 + i % 9, 200 + i % 7, 1000 + i, *(range(300, 340) if i == 5 else ())]
        dense = f"{name.format(1)}:{0.5 + i % 3}"
        lines.append(f"{i % 9 % 2} {dense} {' '.join(f'{name.format(f)}:1' for f in features)}\n")
    return lines


def _run(train: str, folder: str, encoding: str) -> None:
    """Go the main way, as commands do."""
    from chromatic import jobs
    from chromatic.encoding.one import RowEncoder
    from chromatic.modelfile import load

    reading = jobs.Reading()
    jobs.encode_files([train], [train], folder, settings=Settings(encoding=encoding), reading=reading)
    model = load(os.path.join(folder, "model.chroma"))
    jobs.transform_files([train], model, jobs.target_of(os.path.join(folder, "again.vw")), reading)
    integers = model.encoding.vocabulary.integers
    RowEncoder(model.encoding).encode([100, 200] if integers else ["f100", "f200"])
