"""The whole job, files to files: `chromatic encode` against scikit-learn's bare read of the same files.

python benchmarks/job.py TRAIN.svm TEST.svm
"""

import os
import subprocess
import sys
import tempfile
import time

from measure import table

READ = """
import sys, time
from sklearn.datasets import load_svmlight_file
start = time.perf_counter()
for path in sys.argv[1:]:
    load_svmlight_file(path)
print(time.perf_counter() - start)
"""


def encode(train, test, threads):
    """Seconds from start to end of the process, and the most memory that it held, in MB."""
    program = os.path.join(os.path.dirname(sys.executable), "chromatic")
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "encode", train, "--test", test, "-o", folder, "--threads", str(threads)]
        start = time.perf_counter()
        process = subprocess.Popen(command)
        _, status, used = os.wait4(process.pid, 0)
        assert status == 0
        return time.perf_counter() - start, used.ru_maxrss / 1024


def read(train, test):
    return float(subprocess.run([sys.executable, "-c", READ, train, test], check=True, stdout=-1).stdout)


def main(train, test, runs=3):
    encode(train, test, 2)  # kernels are compiled, files are in memory
    rounds = [(read(train, test), encode(train, test, 1), encode(train, test, 2)) for _ in range(runs)]
    peer, one, two = (min(values) for values in zip(*rounds, strict=True))
    print(f"scikit-learn reads both files in {peer:.2f} s")
    table(
        [
            ("chromatic encode, one thread, against that", f"{one[0] / peer:.2f}x", ""),
            ("chromatic encode, two threads, against that", f"{two[0] / peer:.2f}x", "<= 0.65x"),
            ("its memory", f"{two[1]:.0f} MB", "< 400 MB"),
        ]
    )


if __name__ == "__main__":
    main(*sys.argv[1:3])
