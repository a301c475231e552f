"""Damaged files of every other format: refused with an InputError, or read to batches that hold together.

A case is one file: CSV, TSV, Criteo's layout, Parquet, Arrow files and streams, npz, and text in each
compression. Memory is limited, so that a file cannot make the reader take more than it has a right to.
"""

import bz2
import gzip
import io
import lzma
import os
import resource
import tempfile
import zipfile
from collections import Counter
from functools import cache
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from mutate import damaged, line
from scipy.sparse import random_array, save_npz

from chromatic.data import Reader
from chromatic.data.npz import write_npz
from chromatic.errors import InputError

CASES = 100
TALLY = Counter()
MEMORY = 4 << 30  # that a step may take; Arrow keeps some of each damaged zst stream
FOLDER = tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
PATH = os.path.join(FOLDER.name, "case")


def run(random: Random) -> int:
    """A hundred files; raises where one is neither read nor refused."""
    formats = sorted(seeds())
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    for _ in range(CASES):
        name = random.choice(formats)
        with open(PATH, "wb") as file:
            file.write(changed(random, name))
        try:
            batches = Reader(name.split("-")[0], on_bad_line=skipping(name), n_jobs=1).batches(PATH)
        except InputError:
            TALLY[f"{name} refused"] += 1
            continue
        TALLY[f"{name} read"] += 1
        for batch in batches:
            hold_together(batch)
    return CASES


def skipping(name: str) -> str:
    """Text has bad lines more often than not."""
    return "skip" if name.startswith("svmlight") else "raise"


def hold_together(batch) -> None:
    """What kernels take for granted."""
    assert (
        batch.indptr[0] == 0 and batch.indptr[-1] == len(batch.ids) and (np.diff(batch.indptr) >= 0).all()
    )
    assert np.isfinite(batch.all_values()).all()
    assert batch.labels is None or (len(batch.labels) == batch.n_rows and np.isfinite(batch.labels).all())
    assert batch.numeric is None or np.isfinite(batch.numeric).all()
    if batch.tokens is not None:
        assert len(batch.ids) == 0 or int(batch.ids.max()) < len(batch.tokens.hashes)
        assert batch.tokens.names is None or len(batch.tokens.names.tolist()) == len(batch.tokens.hashes)


def changed(random: Random, name: str) -> bytes:
    """A seed damaged once or more; of npz most often a member, packed again so that its checksum agrees."""
    seed = random.choice(seeds()[name])
    if name == "npz" and random.random() < 0.7:
        return repacked(random, seed)
    if name.startswith("svmlight-"):
        text = b"\n".join(line(random, "svmlight") for _ in range(20))
        seed = COMPRESSIONS[name.split("-")[1]](text)
    for _ in range(random.choice((0, 1, 1, 2, 5))):
        seed = damaged(random, seed)
    return seed


def repacked(random: Random, seed: bytes) -> bytes:
    """An npz file with one of its arrays damaged, or its header made to lie."""
    with zipfile.ZipFile(io.BytesIO(seed)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = random.choice(sorted(members))
    members[name] = damaged(random, members[name])
    if random.random() < 0.3:
        number = random.choice((b"(9,)", b"(99999999999,)", b"(3, 3)", b"()", b"(-1,)"))
        members[name] = members[name].replace(b"(4,)", number)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return out.getvalue()


def zstd(data: bytes) -> bytes:
    return pa.compress(data, "zstd", asbytes=True)


COMPRESSIONS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


@cache
def seeds() -> dict[str, list[bytes]]:
    """Good files of every format."""
    table = pa.table(
        {
            "label": [1, 0, 1, 0],
            "tags": pa.array([["a", "bc"], [], None, ["a"]]),
            "counts": pa.array(
                [[("x", 1.0)], [("y", 2.5), ("x", 0.0)], [], None], pa.map_(pa.string(), pa.float64())
            ),
            "ids": pa.array([[1, 2], [3], [], [4]], pa.list_(pa.int32())),
            "color": pa.array(["red", None, "blue", ""]).dictionary_encode(),
            "price": [0.5, None, 2.0, float("nan")],
        }
    )
    integers = table.select(["label", "ids"])
    by_format = {name: [] for name in ("csv", "tsv", "criteo", "parquet", "arrow", "npz")}
    by_format |= {f"svmlight-{name}": [b""] for name in COMPRESSIONS}
    csv = 'label,color,price,"a ""b"""\n1,red,0.5,x\n0,,2,"y,\nz"\n1,blue,,\n'
    by_format["csv"] = [csv.encode()]
    by_format["tsv"] = [csv.replace(",", "\t").encode()]
    criteo = "\t".join(["1", *(["3"] * 12), "", *(["68fd1e64"] * 25), ""])
    by_format["criteo"] = ["\n".join([criteo] * 3).encode()]
    for one in (table, integers):
        for options in ({}, {"compression": "none", "use_dictionary": False}, {"compression": "zstd"}):
            sink = io.BytesIO()
            pq.write_table(one, sink, **options)
            by_format["parquet"].append(sink.getvalue())
        for new in (pa.ipc.new_file, pa.ipc.new_stream):
            sink = io.BytesIO()
            with new(sink, one.schema) as writer:
                writer.write_table(one)
            by_format["arrow"].append(sink.getvalue())
    for rows in ([[1, 2], [2], [3], []], [["a"], ["b", "a"], [], ["cd"]]):
        sink = io.BytesIO()
        write_npz(sink, Reader().batches(rows))
        by_format["npz"].append(sink.getvalue())
    for layout in ("csc", "coo", "bsr", "dia"):
        sink = io.BytesIO()
        save_npz(sink, random_array((4, 6), density=0.4, format=layout, rng=0))
        by_format["npz"].append(sink.getvalue())
    return by_format
