"""`python fuzz/soak.py --minutes 10`: eight threads encode rows, one by one and many at once.

Every result must be the first one, and memory must stay flat: the slope of anonymous memory over the
second half is printed, and a growth of more than a megabyte a minute is an error.
"""

import argparse
import gc
import json
import threading
import time

import numpy as np

from chromatic import ChromaticEncoder

THREADS = 8
MOST_PER_MINUTE = 1 << 20


def main() -> None:
    """Encode until the minutes are over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    minutes = parser.parse_args().minutes
    draw = np.random.default_rng(0)
    rows = [[f"g{i % 4}", *(f"t{t}" for t in draw.integers(3000, size=8))] for i in range(20_000)]
    y = np.array([int(row[1][1:]) % 2 for row in rows]) ^ (draw.random(20_000) < 0.2)
    encoders = [
        ChromaticEncoder(256, min_gain=0.0, n_jobs=1).fit(rows, y),
        ChromaticEncoder(64, encoding="target", n_jobs=1).fit(rows, y),
    ]
    test = rows[:200]
    expected = [(e.transform(test), [e.encode_one(row) for row in test]) for e in encoders]
    stop, wrong, done = threading.Event(), [], [[0, 0] for _ in range(THREADS)]

    def work(number: int) -> None:
        encoder = encoders[number % 2]
        many, ones = expected[number % 2]
        while not stop.is_set() and not wrong:
            for row, one in zip(test, ones, strict=True):
                if not np.array_equal(encoder.encode_one(row), one):
                    wrong.append(row)
            done[number][0] += len(test)
            if (encoder.transform(test) != many).nnz:
                wrong.append("transform")
            done[number][1] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    seen = []
    began = time.monotonic()
    while time.monotonic() - began < 60 * minutes and not wrong:
        time.sleep(min(5, 6 * minutes))
        gc.collect()
        seen.append((time.monotonic() - began, anonymous_memory()))
    stop.set()
    for thread in threads:
        thread.join()
    seconds, memory = np.array(seen[len(seen) // 2 :]).T
    slope = float(np.polyfit(seconds / 60, memory, 1)[0])
    facts = {
        "minutes": minutes,
        "threads": THREADS,
        "encode_one": sum(ones for ones, _ in done),
        "transform": sum(many for _, many in done),
        "wrong": len(wrong),
        "megabytes": round(memory[-1] / 1e6, 1),
        "bytes_a_minute": round(slope),
    }
    print(json.dumps(facts))
    if wrong or slope > MOST_PER_MINUTE:
        raise SystemExit("results differ" if wrong else "memory grows")


def anonymous_memory() -> int:
    """The process's own memory, without mapped files."""
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("RssAnon"))


if __name__ == "__main__":
    main()
