import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

@pytest.mark.parametrize("i", range(3))
def test_of_java(i):
    pytest.skip("there is no Java on this machine")

@pytest.mark.skipif(True, reason="there is no chromium on this machine")
def test_of_browser():
    pass

def test_that_runs():
    pass
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "xdist"])
def test_the_end_of_a_run_tells_what_was_skipped_and_why(tmp_path, workers):
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "skips",
        "--rootdir",
        tmp_path,
        *workers,
        tmp_path,
    ]
    done = subprocess.run(
        command, cwd=Path(__file__).parent, capture_output=True, text=True, timeout=900, check=True
    )
    assert "skipped 3 tests: there is no Java on this machine\n" in done.stdout
    assert "skipped 1 test: there is no chromium on this machine\n" in done.stdout
    assert done.stdout.count("skipped ") == 2 + done.stdout.splitlines()[-1].count("skipped ")
