"""One way to compare encoders and learners: a grid of cells, each the same protocol.

Fit the encoder on the training rows, train the learner on their columns, measure on the test rows. Every
cell has a process of its own, so that its memory is its own and its death is not the grid's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from chromatic._extras import optional
from chromatic._files import peak_memory
from chromatic._processes import in_a_process
from chromatic.encoding.encoded import Encoded
from chromatic.errors import InputError
from chromatic.learn.boosting import LightGBM
from chromatic.learn.encoders import ALIASES, VALIDATIONS, WITHOUT_BUDGET, canonical, encode_pair
from chromatic.learn.inputs import Layout
from chromatic.learn.linear import VowpalWabbit, choose_strength, linear_learner
from chromatic.learn.results import Results
from chromatic.learn.splits import AnySplit, Pair, Split, StreamedPair
from chromatic.learn.targets import BINARY, Target
from chromatic.registry import ENCODINGS, encoding_class

NETWORKS = {"lr-net": "lr", "fm": "fm", "nfm": "nfm", "deepfm": "deepfm", "wd": "wd"}  # architectures
LEARNERS = ("vw", "lr", *NETWORKS, "lightgbm")
CHOOSE = ("lr",)  # learners with something to choose
ISOLATED_FROM = 100_000  # rows to train on: fewer cannot fill the memory, and a process costs seconds
STREAM = ("vw",)  # learners that need not hold their rows
OF_ANY_LABELS = ("lr", "lightgbm")  # learners of several classes and of numbers too


def figures_of(target: Target) -> dict[str, type]:
    """Return the figures of a cell, in order, and their types."""
    seconds = ("encode_seconds", "train_seconds", "peak_mb")
    return {"columns": int, "parameters": int} | dict.fromkeys((*target.figures, *seconds), float)


FIGURES = figures_of(BINARY)

Result = dict[str, Any]


@dataclass(frozen=True)
class Networks:
    """How all networks of a grid are trained."""

    device: str = "cpu"  # of torch
    updates: str = "auto"  # of `NetworkClassifier`: dense is Adam, lazy is Adam of what a batch touches

    def check(self) -> None:
        """Refuse a device that torch does not have."""
        optional("torch")
        from chromatic.learn.networks import device_of

        device_of(self.device)


ON_CPU = Networks()


def evaluate(
    split: AnySplit[Any],
    encoders: Sequence[str] = ("submodular",),
    learners: Sequence[str] = ("vw",),
    budgets: Sequence[int] = (1024,),
    *,
    out: str | None = None,
    validation: str = "random",
    seed: int = 0,
    threads: int = 1,
    networks: Networks = ON_CPU,
    isolated: bool = True,
) -> Iterator[Result]:
    """The results of a grid, one by one, encoder by encoder.

    What a learner has to choose it chooses on a fifth of the training rows, `validation`: at random, or
    the last, as rows after the training rows will be.

    A cell that fails, or that makes no sense, has an `error` and no figures. With `out`, a Parquet file,
    the cells that are in it are not run again, and each result is written when it is there. Results name
    an encoder as it was given; cells are the same whether it was given by its name or by a short one.
    """
    given: dict[str, str] = {}  # by its name, the word for each encoder
    for word in encoders:
        given.setdefault(canonical(word), word)
    _check(learners, LEARNERS, "learner")
    _check([validation], VALIDATIONS, "validation")
    if {*learners} & {*NETWORKS}:
        networks.check()
    data = split.fingerprint
    results = Results(out, _schema(split.target), upgrade=_named)
    held_out = cache(lambda: split.within(validation, seed))  # the same for all cells
    for encoder, word in given.items():
        for budget in dict.fromkeys(budgets) if encoder not in WITHOUT_BUDGET else [None]:
            make = partial(encode_pair, encoder=encoder, budget=budget or 0, threads=threads, seed=seed)
            lazy = _LazyPair(split, held_out, make)
            run_cell = partial(_run_cell, split.target, lazy=lazy, threads=threads, networks=networks)
            for learner in dict.fromkeys(learners):
                cell = {
                    "encoder": encoder,
                    "learner": learner,
                    "budget": budget,
                    "seed": seed,
                    "validation": validation,
                    "data": data,
                }
                done = results.done(cell) or results.put(cell, [run_cell(cell, isolated=isolated)])
                yield from (result | {"encoder": word} for result in done)


def why_not(encoder: str, learner: str, target: Target = BINARY) -> str | None:
    """What is wrong with a pair, and what to take instead; None where it makes sense.

    >>> why_not("submodular", "vw")
    """
    if target.refused is not None and learner not in OF_ANY_LABELS:
        others = " or ".join(OF_ANY_LABELS)
        return f"{learner} does not learn {target.refused} here; take {others}"
    name = canonical(encoder)
    gives_levels = name in ENCODINGS and encoding_class(name).gives_levels
    if gives_levels and learner in ("vw", "lr"):
        return (
            f"levels are no numbers for {learner}; take submodular, target, truncation or hashing with it, "
            f"or frequency with {', '.join(NETWORKS)} or lightgbm"
        )
    return None


class _LazyPair:
    """The pair that an encoder makes: once, when the first learner asks."""

    def __init__(
        self, split: AnySplit[Any], held_out: Callable[[], Split], make: Callable[[AnySplit[Any]], Any]
    ) -> None:
        self.make: Callable[[], Pair | StreamedPair] = lambda: make(split)
        self.make_within: Callable[[], Pair] = lambda: make(held_out())
        self.pair: Pair | StreamedPair | None = None
        self.error: Exception | None = None
        self.seconds = 0.0

    def get(self) -> tuple[Pair | StreamedPair, float]:
        """Return the pair, and how long it took to make it."""
        if self.error is not None:
            raise self.error
        if self.pair is None:
            start = time.perf_counter()
            try:
                self.pair = self.make()
            except Exception as error:
                self.error = error
                raise
            self.seconds = time.perf_counter() - start
        return self.pair, self.seconds


def _run_cell(
    target: Target, cell: Result, *, lazy: _LazyPair, threads: int, networks: Networks, isolated: bool
) -> Result:
    figures: Result = dict.fromkeys(figures_of(target))
    try:
        refused = why_not(cell["encoder"], cell["learner"], target)
        if refused is not None:
            raise InputError(refused)
        pair, seconds = lazy.get()
        figures |= {"columns": pair.train.n_columns, "encode_seconds": seconds}
        if cell["learner"] not in STREAM:
            pair = pair.loaded()
        within = lazy.make_within() if cell["learner"] in CHOOSE else None
        run = _in_a_process if isolated else measure
        measured = run(cell["learner"], pair, within, seed=cell["seed"], threads=threads, networks=networks)
        return figures | measured | {"error": None}
    except Exception as error:  # whatever it is, the other cells go on
        told = str(error) or type(error).__name__
        return figures | {
            "error": told if isinstance(error, InputError) else f"{type(error).__name__}: {told}"
        }


def _in_a_process(learner: str, pair: Pair | StreamedPair, within: Pair | None, **options: Any) -> Result:
    from concurrent.futures.process import BrokenProcessPool

    try:
        result: Result = in_a_process(measure, learner, pair, within, **options)
        return result
    except BrokenProcessPool as error:
        raise InputError(
            "the learner's process died, as one does that runs out of memory; take a smaller budget"
        ) from error


def measure(
    learner: str,
    pair: Pair | StreamedPair,
    within: Pair | None = None,
    *,
    seed: int = 0,
    threads: int = 1,
    networks: Networks = ON_CPU,
) -> Result:
    """Train a learner on a pair, and tell how well it does; it chooses on `within` what it has to."""
    start = time.perf_counter()
    made = _learner(learner, pair, within, seed=seed, threads=threads, networks=networks)
    made.fit(pair.train, pair.y)
    seconds = time.perf_counter() - start
    target = pair.target
    return {
        "parameters": made.n_parameters,
        **target.measured(pair.y_test, made.predict(pair.test)),
        f"train_{target.loss_key}": target.loss(pair.y, made.predict(pair.train)),
        "train_seconds": seconds,
        "peak_mb": peak_memory() / 2**20,
    }


class Learner(Protocol):
    """What the learners have in common."""

    n_parameters: int

    def fit(self, columns: Any, y: npt.NDArray[Any]) -> Any:
        """Train on rows and their labels."""

    def predict(self, columns: Any) -> npt.NDArray[np.float64]:
        """The probability of the label 1 of each row, of each of several classes, or the number."""


class _NetworkLearner:
    def __init__(
        self, name: str, field_dims: npt.NDArray[np.int64] | None, seed: int, networks: Networks
    ) -> None:
        from chromatic.learn.classifier import NetworkClassifier

        self.network = NetworkClassifier(
            NETWORKS[name],
            field_dims=field_dims,
            updates=networks.updates,
            device=networks.device,
            random_state=seed,
            verbose=1,
        )

    def fit(self, columns: Encoded, y: npt.NDArray[Any]) -> None:
        self.network.fit(columns, y)
        self.n_parameters: int = self.network.n_parameters_

    def predict(self, columns: Encoded) -> npt.NDArray[np.float64]:
        return self.network.predict_proba(columns)[:, 1]


def _learner(
    name: str,
    pair: Pair | StreamedPair,
    within: Pair | None,
    *,
    seed: int,
    threads: int,
    networks: Networks,
) -> Learner:
    """A learner that suits a pair, its library imported."""
    if name in ("lr", "lightgbm") and not all(one.train.n_columns for one in (pair, within) if one):
        raise InputError(f"there are no columns, and {name} needs one; take another encoder, or vw")
    if name == "vw":
        optional("vowpalwabbit")
        return VowpalWabbit()
    assert isinstance(pair, Pair), f"{name} holds all rows"
    if name == "lightgbm":
        optional("lightgbm")
        return LightGBM(pair.field_dims is not None, threads, seed, pair.target)
    if name == "lr":
        if within is None:
            return linear_learner(pair.target)
        parts = within.train, within.y, within.test, within.y_test
        return linear_learner(pair.target, choose_strength(*parts, within.target))
    optional("torch")
    if networks.device == "cpu":
        _check_memory(name, pair)
    return _NetworkLearner(name, pair.field_dims, seed, networks)


def _check_memory(learner: str, pair: Pair) -> None:
    """A network's numbers, their gradients and two moments of these are held at once."""
    from chromatic.learn.networks import ARCHITECTURES, count_parameters

    layout = Layout.of(pair.train, pair.field_dims)
    needed = 16 * count_parameters(ARCHITECTURES[NETWORKS[learner]], len(layout.fields), layout.n_fields)
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else needed
    if needed > 0.7 * there:
        raise InputError(
            f"{learner} on {pair.train.n_columns:,} columns needs {needed / 2**30:.1f} GB and there are "
            f"{there / 2**30:.1f}; take a smaller budget, or frequency, whose layers depend on the colors "
            "alone"
        )


def _check(given: Sequence[str], known: Sequence[str], what: str) -> None:
    for name in given:
        if name not in known:
            raise InputError(f"the {what} is {name!r}; expected one of {', '.join(known)}")


def _named(result: Result) -> Result:
    """Return a result under the one name of its encoder."""
    return result | {"encoder": ALIASES.get(result["encoder"], result["encoder"])}


def _schema(target: Target) -> Any:
    import pyarrow as pa

    kinds = {str: pa.string(), int: pa.int64(), float: pa.float64()}
    fields = {
        "encoder": str,
        "learner": str,
        "budget": int,
        **figures_of(target),
        "error": str,
        "seed": int,
        "validation": str,
        "data": str,
    }
    return pa.schema([(name, kinds[kind]) for name, kind in fields.items()])
