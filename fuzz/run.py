"""`python fuzz/run.py WHAT --cases N --seed S`: cases until there are N, the rate told at the end.

What fails is told with the seed of its step; `--seed THAT --steps 1` runs it alone. With `--minutes`, it
ends by the clock.
"""

import argparse
import importlib
import json
import os
import sys
import time
from pathlib import Path
from random import Random

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "data")]
TARGETS = ("text", "tables", "models")


def main() -> None:
    """Run one target from its seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--cases", type=int, default=10**12)
    parser.add_argument("--steps", type=int, default=10**12)
    parser.add_argument("--minutes", type=float, default=10**6)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    target = importlib.import_module(chosen.target)
    started, cases, steps = time.monotonic(), 0, 0
    while cases < chosen.cases and steps < chosen.steps:
        seed = chosen.seed + steps
        try:
            cases += target.run(Random(seed))
        except BaseException:
            print(f"failed at seed {seed}: python fuzz/run.py {chosen.target} --seed {seed} --steps 1")
            raise
        steps += 1
        if time.monotonic() - started > 60 * chosen.minutes:
            break
    checks = {
        name: value
        for name, value in os.environ.items()
        if name in ("NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT")
    }
    facts = {"target": chosen.target, "cases": cases, "first_seed": chosen.seed, "steps": steps}
    facts |= getattr(target, "TALLY", {}) | checks
    print(json.dumps(facts | {"seconds": round(time.monotonic() - started)}))


if __name__ == "__main__":
    main()
