"""`python fuzz/flood.py --tokens N`: read N tokens that were made up to share 24 bits of their hashes.

In a table whose slots anyone can foresee, the time would grow with the square of N.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import naive

from chromatic.data import Reader


def made_up() -> Iterator[bytes]:
    """Tokens without spaces whose hashes are alike in the lowest 24 bits."""
    for i in count():
        token = naive.with_hash(i << 24, b"%08d" % i)
        if min(token) > 32:
            yield token


def main() -> None:
    """Write a file of such tokens, ten a row, and read it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=240_000)
    tokens = list(islice(made_up(), parser.parse_args().tokens))
    rows = [b" ".join([b"1", *tokens[i : i + 10]]) for i in range(0, len(tokens), 10)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "made-up.tokens"
        path.write_bytes(b"\n".join(rows) + b"\n")
        Reader(format="tokens").read([["warm", "up"]])
        started = time.monotonic()
        vocabulary = Reader(format="tokens").read(path).vocabulary
    print(json.dumps({"features": len(vocabulary), "seconds": round(time.monotonic() - started, 2)}))


if __name__ == "__main__":
    main()
