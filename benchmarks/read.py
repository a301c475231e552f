"""Reading svmlight text against scikit-learn's loader, on the same rows, in one run.

    python benchmarks/read.py [FILE.svm]     # else it makes a file of about 130 MB

The string features are the integers with a letter before them, in a file of their own.
"""

import os
import sys
import tempfile

import numpy as np
from measure import best_of, in_new_process, table

from chromatic.data import Reader


def make(path, rows, seed=0):
    """Rows of about 25 features from a heavy tail over a million and a half."""
    random = np.random.default_rng(seed)
    with open(path, "w") as file:
        for _ in range(rows // 1000):
            lengths = random.poisson(25, 1000)
            ids = (1.5e6 ** random.random(lengths.sum())).astype(int)
            ends = np.cumsum(lengths)
            for label, row in zip(random.integers(0, 2, 1000), np.split(ids, ends[:-1]), strict=True):
                file.write(f"{label} {' '.join(f'{i}:1' for i in np.unique(row))}\n")


def as_strings(path, out):
    with open(path) as file, open(out, "w") as to:
        for line in file:
            label, *features = line.split()
            to.write(f"{label} {' '.join('f' + feature for feature in features)}\n")


MEMORY = """
import json, sys, threading, time
path, what, here = sys.argv[1:]
sys.path.insert(0, here)
from measure import anonymous_mb
from chromatic.data import Reader
Reader().read([[1, 2], [1]])  # everything imported and compiled
before, most, done = anonymous_mb(), 0.0, False
def watch():
    global most
    while not done:
        most = max(most, anonymous_mb())
        time.sleep(0.002)
thread = threading.Thread(target=watch)
thread.start()
data = getattr(Reader(), what)(path)
done = True
thread.join()
print(json.dumps(most - before))
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = sys.argv[1] if len(sys.argv) > 1 else f"{folder}/integers.svm"
        if len(sys.argv) == 1:
            make(path, 700_000)
        strings = f"{folder}/strings.svm"
        as_strings(path, strings)
        from sklearn.datasets import load_svmlight_file

        def parse(threads):
            return lambda: Reader(n_jobs=threads, format="svmlight").batches(path)

        def code(path, threads):
            return lambda: Reader(n_jobs=threads, format="svmlight").read(path)

        for file in (path, strings):
            code(file, 2)()  # compile
        jobs = [lambda: load_svmlight_file(path), parse(1), parse(2)]
        jobs += [code(file, threads) for file in (path, strings) for threads in (1, 2)]
        peer, *seconds = best_of(5, *jobs)
        size = os.path.getsize(path) / 1e6
        print(f"{size:,.0f} MB of text; scikit-learn {peer:.2f} s, {size / peer:.0f} MB/s")
        one, two, coded_one, coded_two, strings_one, strings_two = (peer / s for s in seconds)
        large = f"{folder}/large.svm"
        repeat(path, large, 500e6)
        larger = os.path.getsize(large)
        here = os.path.dirname(os.path.abspath(__file__))
        parsed, coded = (
            in_new_process(MEMORY, large, what, here) * 2**20 / larger for what in ("batches", "read")
        )
        table(
            [
                ("integers to CSR, as scikit-learn does, one thread", f"{one:.1f}x", ">= 15x"),
                ("  two threads against one (of 100 MB and more)", f"{two / one:.2f}x", ">= 1.7x"),
                ("integers to counted, coded rows, one thread", f"{coded_one:.1f}x", ""),
                ("  two threads", f"{coded_two:.1f}x", ""),
                ("strings to counted, coded rows, with names, one thread", f"{strings_one:.1f}x", ">= 4x"),
                ("  two threads", f"{strings_two:.1f}x", ">= 6x"),
                (f"memory grown by {larger / 1e6:,.0f} MB of integers to CSR", f"{parsed:.2f}x", "<= 1.2x"),
                ("  to counted, coded rows", f"{coded:.2f}x", "<= 1.2x"),
            ]
        )


def repeat(path, out, size):
    with open(path, "rb") as file, open(out, "wb") as to:
        text = file.read()
        while to.tell() < size:
            to.write(text)


if __name__ == "__main__":
    main()
