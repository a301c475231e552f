"""Training as one writes it by hand in torch: one-row samples through a DataLoader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from chromatic.learn.inputs import Batch, Inputs

Step = Callable[[Tensor], None]


class Entries(Dataset[Any]):
    """Samples of the columns of a row, all of value 1, and its label."""

    def __init__(self, inputs: Inputs, y: Any) -> None:
        self.inputs, self.y = inputs, y

    def __len__(self) -> int:
        return self.inputs.n_rows

    def __getitem__(self, row: int) -> tuple[Any, Any]:
        return torch.from_numpy(self.columns(row)), torch.tensor(self.y[row])

    def columns(self, row: int) -> Any:
        """Return the columns of a row."""
        begin, end = self.inputs.indptr[row], self.inputs.indptr[row + 1]
        return self.inputs.index[begin:end]


class Dense(Entries):
    """Samples of all columns of a row, 0 and 1, and its label."""

    def __getitem__(self, row: int) -> tuple[Any, Any]:
        columns = np.zeros(self.inputs.n_embeddings, np.float32)
        columns[self.columns(row)] = 1
        return columns, self.y[row]


def join(samples: list[tuple[Tensor, Tensor]]) -> tuple[Batch, Tensor]:
    """Join samples of `Entries` to a batch that our networks take."""
    index = torch.cat([columns for columns, _ in samples])
    lengths = torch.tensor([0, *(len(columns) for columns, _ in samples)])
    unique, local = torch.unique(index, return_inverse=True)
    batch = Batch(
        unique=unique.numpy().astype(np.int64),
        indptr=lengths.cumsum(0).numpy(),
        local=local.numpy().astype(np.int32),
        values=np.empty(0, np.float32),
    )
    return batch, torch.stack([label for _, label in samples])


class WideAndDeep(nn.Module):
    """A linear layer over the concatenation of all columns' embeddings."""

    def __init__(self, n_columns: int, width: int = 16, hidden: int = 16, dropout: float = 0.2) -> None:
        super().__init__()
        self.linear = nn.Linear(n_columns, 1)
        self.embeddings = nn.Parameter(torch.randn(n_columns, width) / 100)
        layers: list[nn.Module] = []
        for size in (n_columns * width, hidden):
            layers += [nn.Linear(size, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Dropout(dropout)]
        self.deep = nn.Sequential(*layers, nn.Linear(hidden, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Return the log-odds of each row."""
        deep = self.deep((x[:, :, None] * self.embeddings).flatten(1))
        log_odds: Tensor = (self.linear(x) + deep)[:, 0]
        return log_odds


def epoch(model: nn.Module, samples: Entries, size: int, step: Step, collate: Any = None) -> None:
    """Train on all samples once."""
    for x, y in DataLoader(samples, size, shuffle=True, collate_fn=collate):
        loss = functional.binary_cross_entropy_with_logits(model(x), y)
        step(loss)
        loss.item()
