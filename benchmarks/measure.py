"""What the scripts of this folder share: the best seconds of several runs, a new process, a table."""

import json
import subprocess
import sys
import textwrap
import time


def best_of(runs, *functions):
    """The best seconds of each function, the runs interleaved: the machine's moods fall on all."""
    best = [float("inf")] * len(functions)
    for _ in range(runs):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def in_new_process(script, *args):
    """Run Python in a process of its own; it prints one line of JSON, which is returned."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, args)], check=True, capture_output=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def table(rows):
    """Rows of (what, measured, wanted)."""
    for what, measured, wanted in rows:
        print(f"{what:<66}{measured:>12}   {wanted}")
