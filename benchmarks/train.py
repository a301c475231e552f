"""The training loop against plain torch, and what Wide & Deep costs on raw columns beside colors.

    python benchmarks/train.py TRAIN.svm

One thread. Two plain programs feed one-row samples through torch's DataLoader: one to the same network,
so that only the batches differ, and one to the network as it is written by hand, a linear layer over the
concatenation of all columns' embeddings. Epochs are told from a number of batches.
"""

import sys
import time

import numpy as np
import torch
from measure import in_new_process, table
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from chromatic.data import Reader
from chromatic.encoding.fitting import Settings, fit
from chromatic.learn.inputs import Batch, Layout
from chromatic.learn.networks import Network, architecture
from chromatic.learn.training import Steps, Training, train


class Entries(Dataset):
    """A row: its columns, and its label."""

    def __init__(self, inputs, y):
        self.inputs, self.y = inputs, y

    def __len__(self):
        return self.inputs.n_rows

    def __getitem__(self, row):
        begin, end = self.inputs.indptr[row], self.inputs.indptr[row + 1]
        return torch.from_numpy(self.inputs.index[begin:end]), torch.tensor(self.y[row])


def join(samples):
    index = torch.cat([columns for columns, _ in samples])
    lengths = torch.tensor([0, *(len(columns) for columns, _ in samples)])
    unique, local = torch.unique(index, return_inverse=True)
    batch = Batch(
        unique.numpy().astype(np.int64),
        lengths.cumsum(0).numpy(),
        local.numpy().astype(np.int32),
        np.empty(0, np.float32),
    )
    return batch, torch.stack([label for _, label in samples])


class Columns(Entries):
    """A row: all its columns, 0 and 1, and its label."""

    def __getitem__(self, row):
        begin, end = self.inputs.indptr[row], self.inputs.indptr[row + 1]
        columns = np.zeros(self.inputs.n_embeddings, np.float32)
        columns[self.inputs.index[begin:end]] = 1
        return columns, self.y[row]


class PlainWideAndDeep(torch.nn.Module):
    def __init__(self, n_columns, width=16, hidden=16, dropout=0.2):
        super().__init__()
        self.linear = torch.nn.Linear(n_columns, 1)
        self.embeddings = torch.nn.Parameter(torch.randn(n_columns, width) / 100)
        layers = []
        for size in (n_columns * width, hidden):
            layers += [torch.nn.Linear(size, hidden), torch.nn.BatchNorm1d(hidden), torch.nn.ReLU()]
            layers.append(torch.nn.Dropout(dropout))
        self.deep = torch.nn.Sequential(*layers, torch.nn.Linear(hidden, 1))

    def forward(self, x):
        deep = self.deep((x[:, :, None] * self.embeddings).flatten(1))
        return (self.linear(x) + deep)[:, 0]


def rows_per_second(steps, size, n_batches):
    next(steps)
    start = time.perf_counter()
    for _ in range(n_batches):
        next(steps)
    return n_batches * size / (time.perf_counter() - start)


def our_steps(network, inputs, y, size):
    """The loop of `train`, stopped after every batch."""
    passed = []
    how = Training(batch_size=size, epochs=1)
    batches = inputs.batches

    def watched(order, size):
        for item in batches(order, size):
            passed.append(time.perf_counter())
            yield item
            if len(passed) > watched.limit:
                return

    watched.limit = 600 if size < 1000 else 60
    train(
        network, type("Watched", (), {"n_rows": inputs.n_rows, "batches": staticmethod(watched)})(), y, how
    )
    return (len(passed) - 1) * size / (passed[-1] - passed[0])


def plain_steps(model, samples, size, collate, step):
    while True:
        for x, y in DataLoader(samples, size, shuffle=True, collate_fn=collate):
            loss = functional.binary_cross_entropy_with_logits(model(x), y)
            step(loss)
            loss.item()
            yield


def loop(path):
    torch.set_num_threads(1)
    data = Reader().read(path, keep_names=False)
    y = data.rows.labels.astype(np.float32)
    columns = fit(data, data.rows.labels, Settings(budget=1024)).training
    layout = Layout.of(columns)
    inputs = layout.inputs(columns)
    lines = []
    for size in (256, 4096):
        network = Network(architecture("wd"), layout.fields, layout.n_fields)
        plain = PlainWideAndDeep(layout.n_columns)
        adam = torch.optim.Adam(plain.parameters(), 1e-3, weight_decay=1e-6)
        same = Steps(network, Training())

        def step(loss, adam=adam):
            adam.zero_grad()
            loss.backward()
            adam.step()

        ours, fed, by_hand = [], [], []
        for _ in range(3):
            ours.append(our_steps(Network(network.made, layout.fields, layout.n_fields), inputs, y, size))
            few = 60 if size < 1000 else 6
            fed.append(
                rows_per_second(plain_steps(network, Entries(inputs, y), size, join, same.step), size, few)
            )
            by_hand.append(
                rows_per_second(plain_steps(plain, Columns(inputs, y), size, None, step), size, few // 3)
            )
        best = max(ours)
        lines += [
            (f"batch {size}: rows a second", f"{best:,.0f}", ""),
            (
                f"batch {size}: against a DataLoader and the network by hand",
                f"{best / max(by_hand):.1f}x",
                ">= 5x",
            ),
            (f"batch {size}: against a DataLoader and the same network", f"{best / max(fed):.1f}x", ""),
        ]
    table(lines)


COST = """
    import json, sys, time
    import numpy as np, torch
    from chromatic.learn.encoders import Split, encode_pair
    from chromatic.learn.inputs import Layout
    from chromatic.learn.networks import Network, architecture
    from chromatic.learn.training import Training, Steps
    from torch.nn import functional

    path, encoder, budget, updates = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    torch.set_num_threads(1)
    split = Split.read(path, path)
    pair = encode_pair(split, encoder, budget)
    layout = Layout.of(pair.train, pair.field_dims)
    inputs = layout.inputs(pair.train)
    y = pair.y.astype(np.float32)
    del split, pair
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    network = Network(architecture("wd"), layout.fields, layout.n_fields, updates=updates)
    steps = Steps(network, Training())
    order = np.random.default_rng(0).permutation(inputs.n_rows)
    times = []
    for rows, batch in inputs.batches(order, 256):
        loss = functional.binary_cross_entropy_with_logits(network(batch), torch.from_numpy(y[rows]))
        steps.step(loss)
        times.append(time.perf_counter())
        if len(times) > 400 or times[-1] - times[0] > 20:
            break
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    epoch = (times[-1] - times[0]) / (len(times) - 1) * inputs.n_rows / 256
    print(json.dumps([network.n_parameters, layout.n_fields, peak, epoch]))
"""


def cost(path):
    print(f"\n{'Wide & Deep, batch 256':<34}{'fields':>10}{'parameters':>14}{'peak MB':>10}{'s/epoch':>10}")
    for power in (18, 20):
        for encoder in ("ft", "cl-ft"):
            for updates in ("dense", "lazy"):
                numbers, fields, peak, epoch = in_new_process(COST, path, encoder, 1 << power, updates)
                what = f"{encoder} at 2^{power}, {updates} updates"
                print(f"{what:<34}{fields:>10,}{numbers:>14,}{peak:>10,.0f}{epoch:>10,.0f}")


if __name__ == "__main__":
    loop(sys.argv[1])
    cost(sys.argv[1])
