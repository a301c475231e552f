"""An epoch of Wide & Deep: our loop beside plain torch, and what raw columns cost beside colors.

One thread. Two plain programs feed one-row samples through torch's DataLoader: one to our network, so that
only the batches differ, and one to the network as it is written by hand. Some batches tell an epoch's time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from chromatic._extras import optional
from chromatic._files import peak_memory
from chromatic._processes import in_a_process
from chromatic.lab.benchmarks.contests import lines, records
from chromatic.lab.benchmarks.data import Files
from chromatic.lab.benchmarks.measure import Contender, Figures, Run, Say, forget_peak, race
from chromatic.learn.encoders import encode_pair
from chromatic.learn.results import Record
from chromatic.learn.splits import Pair, Split

BUDGET = 1024
SIZES = (256, 4096)
ROWS = {256: 600 * 256, 4096: 60 * 4096}  # at most, by the size of a batch; plain torch takes fewer
COST_POWERS = (18, 20)  # of two: the budgets of the table of costs
COST_BATCH = 256
COST_SECONDS = 20.0
COST_BATCHES = 400


def run(files: Files, runs: int, say: Say) -> list[Record]:
    """Measure an epoch beside plain torch, and what raw columns cost beside colors."""
    optional("torch")
    say("\ntrain: an epoch of Wide & Deep on 1024 columns, one thread")
    measured = race([contender for size in SIZES for contender in _contenders(files, size)], runs, say)
    for line in lines(measured):
        say(line)
    head = f"Wide & Deep, batches of {COST_BATCH}"
    say(f"\n{head:<34}{'fields':>10}{'parameters':>14}{'peak MB':>10}{'s/epoch':>10}")
    costs = []
    for power, encoder, updates in product(COST_POWERS, ("ft", "cl-ft"), ("dense", "lazy")):
        what = f"{encoder} at 2^{power}, {updates} updates"
        figures = in_a_process(cost, files.train, encoder, 1 << power, updates)
        say(
            f"{what:<34}{figures['fields']:>10,}{figures['parameters']:>14,}{figures['peak_mb']:>10,.0f}"
            f"{figures['seconds']:>10,.0f}"
        )
        costs.append({"benchmark": "train", "what": what, **figures})
    return [*records("train", measured), *costs]


def _contenders(files: Files, size: int) -> list[Contender]:
    same: dict[str, Any] = {"size": files.size, "does": f"batches of {size}"}
    return [
        Contender(f"batches of {size}", ours, files.train, (size,), **same),
        Contender(f"a DataLoader, batches of {size}", by_loader, files.train, (size,), peer=True, **same),
        Contender(f"all by hand, batches of {size}", by_hand, files.train, (size,), peer=True, **same),
    ]


def ours(path: str, size: int) -> Run:
    """Prepare an epoch by our loop."""
    from chromatic.learn.training import Training, train

    pair = _columns(path)
    network, inputs, y = _prepared(pair, ROWS[size])
    how = Training(batch_size=size, epochs=1)
    return _an_epoch(lambda: train(network, inputs, y, how), len(y), pair)


def by_loader(path: str, size: int) -> Run:
    """Prepare an epoch of our network on one-row samples."""
    from chromatic.lab.benchmarks.plain_torch import Entries, epoch, join
    from chromatic.learn.training import Steps, Training

    pair = _columns(path)
    network, inputs, y = _prepared(pair, ROWS[size] // 10)
    steps = Steps(network, Training())
    samples = Entries(inputs, y)
    return _an_epoch(lambda: epoch(network, samples, size, steps.step, join), len(y), pair)


def by_hand(path: str, size: int) -> Run:
    """Prepare an epoch of the network as it is written by hand, on one-row samples."""
    import torch

    from chromatic.lab.benchmarks.plain_torch import Dense, WideAndDeep, epoch

    pair = _columns(path)
    _, inputs, y = _prepared(pair, ROWS[size] // 30)
    model = WideAndDeep(inputs.n_embeddings)
    adam = torch.optim.Adam(model.parameters(), 1e-3, weight_decay=1e-6)

    def step(loss: torch.Tensor) -> None:
        adam.zero_grad()
        loss.backward()
        adam.step()

    return _an_epoch(lambda: epoch(model, Dense(inputs, y), size, step), len(y), pair)


def cost(path: str, encoder: str, budget: int, updates: str) -> dict[str, Any]:
    """Measure the memory and the seconds of an epoch on an encoder's columns, in a process of its own."""
    import torch
    from torch.nn import functional

    from chromatic.learn.inputs import Layout
    from chromatic.learn.networks import Network, architecture
    from chromatic.learn.training import Steps, Training

    torch.set_num_threads(1)
    pair = encode_pair(Split.read(path, path), encoder, budget)
    layout = Layout.of(pair.train, pair.field_dims)
    inputs, y = layout.inputs(pair.train), pair.y.astype(np.float32)
    del pair
    forget_peak()
    network = Network(architecture("wd"), layout.fields, layout.n_fields, updates=updates)
    steps = Steps(network, Training())
    times = []
    order = np.random.default_rng(0).permutation(inputs.n_rows)
    for rows, batch in inputs.batches(order, COST_BATCH):
        steps.step(functional.binary_cross_entropy_with_logits(network(batch), torch.from_numpy(y[rows])))
        times.append(time.perf_counter())
        if len(times) > COST_BATCHES or times[-1] - times[0] > COST_SECONDS:
            break
    seconds = (times[-1] - times[0]) / max(1, len(times) - 1)
    return {
        "fields": layout.n_fields,
        "parameters": network.n_parameters,
        "peak_mb": peak_memory() / 2**20,
        "seconds": seconds * inputs.n_rows / COST_BATCH,
    }


def _columns(path: str) -> Pair:
    import torch

    torch.set_num_threads(1)
    return encode_pair(Split.read(path, path), "cl-sm", BUDGET)


def _prepared(pair: Pair, rows: int) -> tuple[Any, Any, Any]:
    """Return a network for the columns, and the first rows as it takes them, with their labels."""
    from chromatic.learn.inputs import Layout
    from chromatic.learn.networks import Network, architecture

    layout = Layout.of(pair.train)
    rows = min(rows, len(pair.y))
    network = Network(architecture("wd"), layout.fields, layout.n_fields)
    return network, layout.inputs(pair.train.span(0, rows)), pair.y[:rows].astype(np.float32)


def _an_epoch(some: Callable[[], Any], rows: int, pair: Pair) -> Run:
    """Return a run that tells the seconds of an epoch over all rows from those over some."""

    def run() -> Figures:
        start = time.perf_counter()
        some()
        return {"seconds": (time.perf_counter() - start) * len(pair.y) / rows}

    return run
