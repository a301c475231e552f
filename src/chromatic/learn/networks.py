"""Five architectures on one layer of embeddings."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from chromatic.errors import InputError
from chromatic.learn.bags import Entries, Tables, bag
from chromatic.learn.inputs import Batch

LAZY_ABOVE = 1 << 22  # numbers in a table


@dataclass(frozen=True)
class Architecture:
    """What a network adds to the linear term, and the paper's sizes."""

    embedding: int = 0
    hidden: tuple[int, ...] = ()
    pairs: bool = False  # the products of all pairs of embeddings
    pooled: bool = False  # the hidden layers see their sum, not the concatenation of fields


ARCHITECTURES = {
    "lr": Architecture(),
    "fm": Architecture(16, pairs=True),
    "nfm": Architecture(64, (64,), pairs=True, pooled=True),
    "deepfm": Architecture(16, (16, 16), pairs=True),
    "wd": Architecture(16, (16, 16)),
}


def architecture(
    name: str, embedding: int | None = None, hidden: tuple[int, ...] | None = None
) -> Architecture:
    """An architecture by its name, with other sizes if they are given.

    >>> architecture("wd", hidden=(32,)).hidden
    (32,)
    """
    if name not in ARCHITECTURES:
        raise InputError(f"architecture is {name!r}; expected one of {', '.join(ARCHITECTURES)}")
    base = ARCHITECTURES[name]
    embedding = base.embedding if embedding is None else embedding
    hidden = base.hidden if hidden is None else tuple(hidden)
    if base.embedding and embedding < 1:
        raise InputError(f"the embedding has {embedding} numbers; expected 1 or more")
    if bool(hidden) != bool(base.hidden) or any(size < 1 for size in hidden):
        wanted = "at least one hidden layer" if base.hidden else "no hidden layer"
        raise InputError(f"hidden is {hidden} for {name}; expected {wanted}, each of 1 or more")
    return Architecture(embedding if base.embedding else 0, hidden, base.pairs, base.pooled)


def device_of(name: str) -> torch.device:
    """Return a device by its name; refuse one that is not there.

    >>> device_of("cpu")
    device(type='cpu')
    """
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, ImportError) as error:
        why = str(error).partition("\n")[0].partition(". ")[0]
        raise InputError(
            f"device is {name!r}; expected one that torch has here, such as cpu ({why})"
        ) from error
    return device


def count_parameters(made: Architecture, n_embeddings: int, n_fields: int) -> int:
    """How many numbers a network learns, without making it.

    >>> count_parameters(ARCHITECTURES["lr"], 1024, 1024)
    1025
    """
    total = 1 + n_embeddings * (1 + made.embedding)
    if not made.hidden:
        return total
    if made.pooled:
        total += 2 * made.embedding + (made.embedding + 1) * made.hidden[0]
    else:
        total += n_fields * made.embedding * made.hidden[0]
    for before, size in zip(made.hidden, made.hidden[1:], strict=False):
        total += (before + 1) * size
    return total + 2 * sum(made.hidden) + made.hidden[-1] + 1


class Dropout(nn.Module):
    """Dropout by NumPy's random numbers: faster than the library's, and the same on every device."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.keep = np.float32(1 - rate)
        self.random = np.random.default_rng(0)

    def forward(self, x: Tensor) -> Tensor:
        """Set numbers to 0 in training, and scale the others up."""
        if not self.training or self.keep == 1:
            return x
        mask = (self.random.random(tuple(x.shape), np.float32) < self.keep) / self.keep
        return x * torch.from_numpy(mask).to(x.device)


class Network(nn.Module):
    """A network of one of the architectures; its output is the log-odds of each row."""

    def __init__(
        self,
        made: Architecture,
        fields: npt.NDArray[np.int32],
        n_fields: int,
        *,
        dropout: float = 0.2,
        entries_per_row: float = 16.0,
        updates: str = "dense",
    ) -> None:
        super().__init__()
        self.made, self.fields = made, fields
        n_embeddings = len(fields)
        self.bias = nn.Parameter(torch.zeros(1))
        self.weights = nn.Parameter(torch.zeros(n_embeddings, 1))
        self.embeddings = nn.Parameter(torch.empty(n_embeddings, made.embedding))
        _spread(self.embeddings, math.sqrt(6 / (n_embeddings + made.embedding)))
        concatenated = bool(made.hidden) and not made.pooled
        shape = (n_fields, made.embedding * made.hidden[0]) if concatenated else (0, 0)
        self.blocks = nn.Parameter(torch.empty(shape))
        # The layer's fan-in is that of the fields which are there, not of all.
        _spread(self.blocks, 1 / math.sqrt(max(1.0, made.embedding * entries_per_row)))
        self.hidden = self._hidden(dropout) if made.hidden else None
        # A block that several embeddings of a batch share has no row of its own to be lazy about.
        shared = n_fields < n_embeddings
        lazy = _is_lazy(self.embeddings, updates), not shared and _is_lazy(self.blocks, updates)
        self.tables = Tables(self.weights, self.embeddings, self.blocks, made.pairs, lazy)

    def _hidden(self, dropout: float) -> nn.Sequential:
        layers: list[nn.Module] = []
        sizes = self.made.hidden
        before = sizes[0]
        if self.made.pooled:
            layers += [nn.BatchNorm1d(self.made.embedding), Dropout(dropout)]
            layers.append(nn.Linear(self.made.embedding, before))
        for i, size in enumerate(sizes):
            if i:
                layers.append(nn.Linear(before, size))
            layers += [nn.BatchNorm1d(size), nn.ReLU(), Dropout(dropout)]
            before = size
        return nn.Sequential(*layers, nn.Linear(before, 1))

    def forward(self, batch: Batch) -> Tensor:
        """The log-odds of a batch's rows."""
        linear, products, first = bag(self.tables, Entries.of(batch, self.fields, self.bias.device))
        logits = self.bias + linear
        if self.made.pairs and not self.made.pooled:
            logits = logits + products.sum(1)
        if self.hidden is not None:
            logits = logits + self.hidden(products if self.made.pooled else first)[:, 0]
        return logits

    def start_at(self, rate: float) -> None:
        """Begin with the labels' rate, which an untrained network has no reason to miss."""
        with torch.no_grad():
            self.bias.fill_(math.log(rate / (1 - rate)))

    def seed(self, *numbers: int) -> None:
        """Make what is dropped from here on follow from these numbers."""
        random = np.random.default_rng(numbers)
        for module in self.modules():
            if isinstance(module, Dropout):
                module.random = random

    @property
    def n_parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())


def _spread(parameter: Tensor, bound: float) -> None:
    with torch.no_grad():
        parameter.uniform_(-bound, bound)


def _is_lazy(parameter: Tensor, updates: str) -> bool:
    return parameter.numel() > (LAZY_ABOVE if updates == "auto" else 0) and updates != "dense"
