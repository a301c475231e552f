"""Model files, damaged and made up: refused with an InputError, or good enough to encode with.

A case is one file. Some have bytes changed; in most an array, a fact or the header is changed and the
checksum made to agree, so that what checks the contents is what meets them. A file that loads encodes
rows, many at once and one by one, which must agree; every column that it names is explained, its encoder
keeps the parameters of the machine, and some make a report. Memory is limited, so that a file that makes
it grow out of proportion fails.
"""

import contextlib
import json
import os
import resource
import tempfile
import warnings
from collections import Counter
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from mutate import damaged

import chromatic
from chromatic.data import Reader
from chromatic.encoding.explain import column_names, explain
from chromatic.encoding.one import RowEncoder
from chromatic.errors import InputError, InputWarning
from chromatic.fitting import LocalSource, fit
from chromatic.fitting.later import MoreSource
from chromatic.model import Input, Model, updated
from chromatic.modelfile import _read, checksum_of, load, save
from chromatic.parameters import PARAMETERS, Settings
from chromatic.report.page import report

warnings.simplefilter("ignore", InputWarning)
CASES = 500
ROOM = 2 << 30  # bytes of address space that cases may take, beside what the imports took
TALLY = Counter()
FOLDER = tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
PATH = os.path.join(FOLDER.name, "case.chroma")
NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    127,
    255,
    1 << 16,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    1 << 32,
    1 << 48,
    (1 << 63) - 1,
]
ODD_FACTS = [
    *NUMBERS,
    -(1 << 63),
    1 << 64,
    1e308,
    float("nan"),
    float("inf"),
    None,
    True,
    "",
    "x",
    [],
    {},
    [[]],
]
WORDS = ["rows", "matrix", "table", "files", "submodular", "target", "frequency", "fields", "drop", "emit"]
OF_MACHINE = [one.python for one in PARAMETERS if not one.in_file]
TYPES = {"|u1": "U8", "<i4": "I32", "<u4": "U32", "<i8": "I64", "<u8": "U64", "<f8": "F64", "<f4": "F32"}


def run(random: Random) -> int:
    """Some hundred files; raises where one neither loads well nor is refused."""
    limit_memory()
    for _ in range(CASES):
        with open(PATH, "wb") as file:
            file.write(changed(random))
        try:
            model = load(PATH)
        except InputError:
            TALLY["refused"] += 1
            continue
        TALLY["loaded"] += 1
        use(model)
        show(model, with_report=random.random() < 0.02)
    return CASES


@cache
def limit_memory() -> None:
    """Let no case take more than its room; called once, when the kernels and the seeds are there."""
    for seed in seeds():
        with open(PATH, "wb") as file:
            file.write(seed)
        show(load(PATH), with_report=True)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, resource.RLIM_INFINITY))


def show(model: Model, with_report: bool) -> None:
    """The encoder of the file, which others may have made, as its user meets it."""
    encoder = chromatic.load(PATH)
    fresh = chromatic.ChromaticEncoder().get_params()
    assert {name: encoder.get_params()[name] for name in OF_MACHINE} == {
        name: fresh[name] for name in OF_MACHINE
    }
    assert len(encoder.get_feature_names_out()) == encoder.n_columns_ == model.n_columns
    if with_report:
        TALLY["reported"] += 1
        report(model)


def use(model: Model) -> None:
    """Everything that a model is for."""
    encoding = model.encoding
    integers = encoding.vocabulary.integers
    rows = [
        [row[0] % 40, 7, 7 + row[1] % 90] if integers else [f"a{row[0]}", f"b{row[1]}", "c"] for row in ROWS
    ]
    names = column_names(encoding)
    for column in range(0, len(names), 1 + len(names) // 4):
        explain(encoding, column)
    if encoding.vocabulary.n_rows < 1 << 20:  # more rows are as honest as few, and cost as much as asked
        assert len(model.training_rows) <= encoding.vocabulary.n_rows
    if encoding.vocabulary.numeric_names:
        return
    if model.kept is not None:
        update(model, rows)
    many = encoding.encode(encoding.vocabulary.encode(Reader().batches(rows))).to_csr()
    assert many.shape == (len(rows), len(names))
    assert many.nnz == 0 or (0 <= many.indices.min() and many.indices.max() < many.shape[1])
    alone = RowEncoder(encoding)
    for row, expected in zip(rows[:2], many[:2], strict=True):
        one = alone.encode(row)
        if one is None:  # the model reads all rows as many
            break
        expected = expected.toarray().ravel()
        listed = encoding.tables.values is None and not encoding.sums  # the columns that are 1
        wanted = np.flatnonzero(expected) if listed else expected
        assert np.array_equal(one, wanted), (row, one, wanted)


def update(model: Model, rows: list[list[Any]]) -> None:
    """Add rows to a model, twice."""
    for decay in (1.0, 0.5):
        batches, labels = Reader().batches(rows), np.arange(len(rows)) % 2
        with contextlib.suppress(InputError):  # classes or parameters may be others
            model = updated(
                model, MoreSource(model.encoding, model.kept, batches, labels.astype(float), decay=decay)
            )
            TALLY["updated"] += 1


ROWS = [(i, 3 * i % 31) for i in range(5)]


@cache
def seeds() -> list[bytes]:
    """A small model file of every kind."""
    random = np.random.default_rng(0)
    labels = (random.random(80) < 0.4).astype(float)
    words = [[f"a{i % 7}", f"b{i % 31}", f"c{i % 3}"] for i in range(80)]
    table = pd.DataFrame(words, columns=["a", "b", "c"]).assign(price=random.random(80))
    kinds = [
        (Reader().read(words, dense_threshold=0.2), {}),
        (Reader().read([[i % 7, 10 + i % 31, 50 + i % 3] for i in range(80)], dense_threshold=0.2), {}),
        (Reader().read([{f"v{i % 30}": i % 5 + 1.0, "x": 2.0} for i in range(80)], values="distinct"), {}),
        (Reader().read(table, keep_fields=True), {"coloring": "fields"}),
    ]
    encodings = [
        {"encoding": "submodular"},
        {"encoding": "submodular", "null": "emit"},
        {"encoding": "target", "leakage": "split"},
        {"encoding": "frequency"},
        {"encoding": "submodular", "keep": "statistics"},
        {"encoding": "target", "keep": "statistics"},
    ]
    files = []
    for data, options in kinds:
        for chosen in encodings:
            fitted = fit(LocalSource(data, labels), Settings(40, min_gain=0.0, **options, **chosen))
            for input in inputs(data.vocabulary.integers):
                told = fitted.settings.kept, input, fitted.trains, fitted.class_labels
                save(Model(fitted.encoding, *told, kept=fitted.kept), PATH)
                with open(PATH, "rb") as file:
                    files.append(file.read())
    return files


def inputs(integers: bool) -> list[Input]:
    """What a model may have been fitted on."""
    table, others = Input("table", 3, ("a", "b", "c"), ""), [Input("rows"), Input("files", label="y")]
    return [table, *others, Input("matrix", 60)] if integers else [table, *others]


@cache
def parsed(which: int) -> tuple[dict, dict]:
    """The facts and arrays of a seed."""
    seed = seeds()[which]
    with open(PATH, "wb") as file:
        file.write(seed)
    return _read(PATH)


def changed(random: Random) -> bytes:
    """A model file with one thing or a few changed."""
    which = random.randrange(len(seeds()))
    if random.random() < 0.2:
        data = seeds()[which]
        return (
            damaged(random, data) if random.random() < 0.5 else damaged(random, data[:3000]) + data[3000:]
        )
    facts, arrays = parsed(which)
    facts, arrays = json.loads(json.dumps(facts)), dict(arrays)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        if random.random() < 0.7:
            change_array(random, arrays)
        else:
            change_fact(random, facts)
    return packed(random, facts, arrays)


def change_array(random: Random, arrays: dict) -> None:
    """One array in place of another, shorter, longer, of another type, or with an element changed."""
    name = random.choice(sorted(arrays))
    array = arrays[name]
    how = random.randrange(12)
    if how == 0:
        del arrays[name]
    elif how == 1:
        arrays[name] = arrays[random.choice(sorted(arrays))]
    elif how == 2:
        arrays[name] = array[: random.randrange(len(array) + 1)]
    elif how == 3:
        arrays[name] = np.concatenate((array, array[: 1 + random.randrange(3)]))
    elif how == 4:
        with np.errstate(invalid="ignore"):
            arrays[name] = array.astype(random.choice(("u1", "<i4", "<u4", "<i8", "<u8", "<f8", "<f4")))
    elif how == 5:
        arrays[name] = array[::-1]
    elif len(array):
        array = arrays[name] = array.copy()
        at = random.randrange(len(array))
        if array.dtype.kind == "f":
            array[at] = random.choice((np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, random.random()))
        elif how < 9:
            limits = np.iinfo(array.dtype)
            array[at] = max(int(limits.min), min(int(limits.max), random.choice(NUMBERS)))
        else:
            other = int(array[random.randrange(len(array))]) + random.choice((-1, 0, 1))
            limits = np.iinfo(array.dtype)
            array[at] = max(int(limits.min), min(int(limits.max), other))


def change_fact(random: Random, facts: dict) -> None:
    """One value of the JSON, at the top or below."""
    place = facts
    name = random.choice(sorted(facts))
    if isinstance(facts[name], dict) and facts[name] and random.random() < 0.9:
        place, name = facts[name], random.choice(sorted(facts[name]))
    if random.random() < 0.1:
        del place[name]
    elif random.random() < 0.2:
        before = facts.get("parameters")
        forged = {random.choice(OF_MACHINE): random.choice(NUMBERS)}
        facts["parameters"] = before | forged if isinstance(before, dict) else forged
    elif random.random() < 0.2:
        place[name] = random.choice(WORDS)
    else:
        place[name] = random.choice(ODD_FACTS)


def packed(random: Random, facts: dict, arrays: dict) -> bytes:
    """A safetensors file, written by hand so that its header can lie."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    facts["checksum"] = checksum_of(facts, arrays)
    header, at = {"__metadata__": {"chromatic": json.dumps(facts, sort_keys=True)}}, 0
    for name, array in arrays.items():
        end = at + array.nbytes
        header[name] = {"dtype": TYPES[array.dtype.str], "shape": [len(array)], "data_offsets": [at, end]}
        at = end
    if random.random() < 0.1:
        entry = header[random.choice(sorted(arrays))]
        part = random.choice(("dtype", "shape", "data_offsets"))
        entry[part] = random.choice(
            (random.choice(ODD_FACTS), [random.choice(NUMBERS)], [0, random.choice(NUMBERS)])
        )
    text = json.dumps(header).encode()
    length = len(text) if random.random() > 0.02 else random.choice(NUMBERS) % (1 << 64)
    return length.to_bytes(8, "little") + text + b"".join(array.tobytes() for array in arrays.values())
