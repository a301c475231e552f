"""`python fuzz/guided.py WHAT CORPUS [libFuzzer's flags]`: inputs found by coverage (pip install atheris).

Kernels run as plain Python, so that their branches count. Checksums of model files are not compared,
else no changed file would reach what stands behind them.
"""

import os
import sys
from pathlib import Path
from random import Random

os.environ["NUMBA_DISABLE_JIT"] = "1"
TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "data")]

import atheris  # noqa: E402

with atheris.instrument_imports(include=["chromatic"]):
    import models
    import text
    from mutate import line

    from chromatic import modelfile
    from chromatic.errors import InputError

FORMATS = ("svmlight", "tokens", "vw")


def read_text(data: bytes) -> None:
    """The first byte chooses format and size of chunks; the rest is read as by the naive parser."""
    if data:
        text.compare_by_kind(data[1:].split(b"\n"), FORMATS[data[0] % 3], (64, 1 << 16)[data[0] // 3 % 2])


def load_model(data: bytes) -> None:
    """Refused, or good enough to encode with."""
    with open(models.PATH, "wb") as file:
        file.write(data)
    try:
        model = modelfile.load(models.PATH)
    except InputError:
        return
    models.use(model)


def main() -> None:
    """Put seeds into the corpus, and fuzz."""
    what, corpus = sys.argv[1], Path(sys.argv[2])
    corpus.mkdir(parents=True, exist_ok=True)
    random = Random(0)
    lines = [bytes([kind]) + line(random, FORMATS[kind]) for kind in range(3) for _ in range(20)]
    for i, seed in enumerate(models.seeds() if what == "models" else lines):
        (corpus / f"seed{i}").write_bytes(seed)
    if what == "models":
        modelfile.checksum_of = lambda facts, arrays: facts.get("checksum")
    atheris.Setup([sys.argv[0], *sys.argv[2:]], {"text": read_text, "models": load_model}[what])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
