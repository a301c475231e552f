"""The sums over a row's entries that every architecture is made of, forwards and backwards.

For a row with entries of weights w_j, embeddings e_j, fields f_j and values v_j, they are
    Σ v_j w_j,    the pairwise products Σ_{i<j} (v_i e_i) ∘ (v_j e_j),    Σ v_j e_j W_{f_j}.
The last is the first hidden layer over the concatenation of all fields' embeddings, in which an absent
field is 0: W_f is the block of the layer's weights that meets field f. So its cost is that of the entries,
and nothing is padded. On a CPU, kernels compute the three in one go; elsewhere, the library's operations
do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from chromatic._numba import inlined, kernel
from chromatic.learn.inputs import Batch


@dataclass(frozen=True)
class Tables:
    """The parameters that entries refer to."""

    weights: Tensor  # embeddings × 1
    embeddings: Tensor  # embeddings × width
    blocks: Tensor  # fields × (width × hidden), or nothing in it
    pairs: bool  # whether pairwise products are wanted
    lazy: tuple[bool, bool]  # whether the gradients of the first two, and of the last, are sparse

    @property
    def width(self) -> int:
        return self.embeddings.shape[1]

    @property
    def hidden(self) -> int:
        return self.blocks.shape[1] // max(1, self.width)

    def in_blocks(self, rows: Tensor) -> Any:
        """Return a view of rows of numbers as blocks of `width` × `hidden`, without a copy."""
        return rows.detach().numpy().reshape(len(rows), self.width, self.hidden)


@dataclass(frozen=True)
class Entries:
    """A batch on a device."""

    batch: Batch
    unique: Tensor
    fields: Tensor  # of the unique embeddings
    indptr: Tensor
    local: Tensor
    values: Tensor

    @classmethod
    def of(cls, batch: Batch, fields: Any, device: torch.device) -> Entries:
        """Move a batch; `fields` are those of all embeddings."""
        arrays = batch.unique, fields[batch.unique], batch.indptr, batch.local, batch.values
        return cls(batch, *(torch.from_numpy(array).to(device) for array in arrays))

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the kernels take: the fields of the unique embeddings, and the arrays of the batch."""
        batch = self.batch
        return self.fields.numpy(), batch.unique, batch.indptr, batch.local, batch.values


def bag(tables: Tables, entries: Entries) -> tuple[Tensor, Tensor, Tensor]:
    """The three sums of every row; those that are not wanted have no columns."""
    if tables.weights.device.type != "cpu":
        return bag_by_operations(tables, entries)
    parameters = tables.weights, tables.embeddings, tables.blocks
    sums: tuple[Tensor, Tensor, Tensor] = _Bag.apply(*parameters, tables, entries)
    return sums


def bag_by_operations(tables: Tables, entries: Entries) -> tuple[Tensor, Tensor, Tensor]:
    """What `bag` does, by the library's operations alone."""
    lazy, lazy_blocks = tables.lazy
    embeddings = functional.embedding(entries.unique, tables.embeddings, sparse=lazy)
    parts = [functional.embedding(entries.unique, tables.weights, sparse=lazy)]
    parts.append(embeddings if tables.pairs else embeddings[:, :0])
    if tables.hidden:
        blocks = functional.embedding(entries.fields, tables.blocks, sparse=lazy_blocks)
        parts.append((embeddings[:, :, None] * blocks.view(-1, tables.width, tables.hidden)).sum(1))
    values = entries.values if len(entries.values) else None
    sizes = [part.shape[1] for part in (*parts, embeddings[:, :0])][:3]
    linear, sums, first = _sum(torch.cat(parts, 1), entries, values).split(sizes, 1)
    if tables.pairs:
        squares = _sum(embeddings**2, entries, None if values is None else values**2)
        sums = (sums**2 - squares) / 2
    return linear[:, 0], sums, first


def _sum(of: Tensor, entries: Entries, values: Tensor | None) -> Tensor:
    return functional.embedding_bag(
        entries.local.long(),
        of,
        entries.indptr,
        mode="sum",
        per_sample_weights=values,
        include_last_offset=True,
    )


class _Bag(torch.autograd.Function):
    """The kernels as one operation, for parameters that are leaves.

    Dense gradients are added to the parameters' own `.grad`: to hand fresh tables to the library at every
    batch costs more than the arithmetic.
    """

    @staticmethod
    def forward(
        context: Any, weights: Tensor, embeddings: Tensor, blocks: Tensor, tables: Tables, entries: Entries
    ) -> tuple[Tensor, Tensor, Tensor]:
        n_rows = len(entries.batch.indptr) - 1
        width, hidden = tables.width, tables.hidden
        linear = np.zeros(n_rows, np.float32)
        sums = np.zeros((n_rows if tables.pairs else 0, width), np.float32)
        products = np.zeros((n_rows, width if tables.pairs else 0), np.float32)
        first = np.zeros((n_rows, hidden), np.float32)
        met = np.zeros((len(entries.batch.unique), hidden), np.float32)
        _forward(
            (weights.detach().numpy(), embeddings.detach().numpy(), tables.in_blocks(blocks)),
            entries.arrays,
            met,
            (linear, sums, products, first),
        )
        context.others = tables, entries, sums
        return torch.from_numpy(linear), torch.from_numpy(products), torch.from_numpy(first)

    @staticmethod
    def backward(context: Any, linear: Tensor, products: Tensor, first: Tensor) -> Any:
        tables, entries, sums = context.others
        lazy, lazy_blocks = tables.lazy
        fields = entries.fields.numpy()
        n, here = len(fields), np.arange(len(fields), dtype=np.int64)
        of_weights = _gradient(tables.weights, n, lazy)
        of_embeddings = _gradient(tables.embeddings, n, lazy)
        of_blocks = _gradient(tables.blocks, n, lazy_blocks)
        met = np.zeros((n, tables.hidden), np.float32)
        above = (np.ascontiguousarray(gradient.numpy()) for gradient in (linear, products, first))
        places = here if lazy else entries.batch.unique
        block_places = here if lazy_blocks else fields.astype(np.int64)
        _backward(
            (tables.embeddings.detach().numpy(), tables.in_blocks(tables.blocks)),
            entries.arrays,
            (sums, met),
            tuple(above),
            (
                (places, of_weights.numpy(), of_embeddings.numpy()),
                (block_places, tables.in_blocks(of_blocks)),
            ),
        )
        gradients: list[Tensor | None] = [None] * 5
        if lazy:
            gradients[0] = _sparse(entries.unique, of_weights, tables.weights)
            gradients[1] = _sparse(entries.unique, of_embeddings, tables.embeddings)
        if lazy_blocks:
            gradients[2] = _sparse(entries.fields.long(), of_blocks, tables.blocks)
        return tuple(gradients)


def _sparse(places: Tensor, rows: Tensor, parameter: Tensor) -> Tensor:
    return torch.sparse_coo_tensor(places[None], rows, parameter.shape, check_invariants=False)


def _gradient(parameter: Tensor, n: int, lazy: bool) -> Tensor:
    """Where the kernel adds: n rows of zeros, or the parameter's own gradient."""
    if lazy:
        return parameter.new_zeros(n, *parameter.shape[1:])
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad


@kernel
def _forward(tables, entries, met, out):  # type: ignore[no-untyped-def]
    """Sum over the entries of each row; `met` holds each embedding times the block of its field.

    Rows are taken out before inner loops, whose only index then is the counter: this vectorizes them.
    """
    weights, embeddings, blocks = tables
    fields, unique, indptr, local, values = entries
    linear, sums, products, first = out
    for u in range(len(unique) if met.shape[1] else 0):
        embedding, block, out = embeddings[unique[u]], blocks[fields[u]], met[u]
        for i in range(len(embedding)):
            part, weight = block[i], embedding[i]
            for c in range(len(out)):
                out[c] += weight * part[c]
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            value = values[i] if len(values) else np.float32(1)
            linear[row] += value * weights[unique[local[i]], 0]
            if len(sums):
                embedding, total, square = embeddings[unique[local[i]]], sums[row], products[row]
                for c in range(len(embedding)):
                    part = value * embedding[c]
                    total[c] += part
                    square[c] -= part * part
            added, out = met[local[i]], first[row]
            for c in range(len(out)):
                out[c] += value * added[c]
        if len(sums):
            total, square = sums[row], products[row]
            for c in range(len(total)):
                square[c] = np.float32(0.5) * (total[c] * total[c] + square[c])


@kernel
def _backward(tables, entries, totals, gradients, out):  # type: ignore[no-untyped-def]
    """Add the gradients of the three sums to those of the tables, at the places given for each table."""
    embeddings, blocks = tables
    fields, unique, indptr, local, values = entries
    sums, met = totals
    linear, products, first = gradients
    (places, of_weights, of_embeddings), (block_places, of_blocks) = out
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            u = local[i]
            value = values[i] if len(values) else np.float32(1)
            of_weights[places[u], 0] += value * linear[row]
            if len(sums):
                embedding, total = embeddings[unique[u]], sums[row]
                above, out = products[row], of_embeddings[places[u]]
                for c in range(len(embedding)):
                    out[c] += value * above[c] * (total[c] - value * embedding[c])
            of_first, out = first[row], met[u]
            for c in range(len(out)):
                out[c] += value * of_first[c]
    for u in range(len(unique) if met.shape[1] else 0):
        embedding, block, above = embeddings[unique[u]], blocks[fields[u]], met[u]
        of_embedding, of_block = of_embeddings[places[u]], of_blocks[block_places[u]]
        for i in range(len(embedding)):
            weight, part, out = embedding[i], block[i], of_block[i]
            for c in range(len(above)):
                out[c] += weight * above[c]
            of_embedding[i] += _dot(part, above)


@inlined
def _dot(left, right):  # type: ignore[no-untyped-def]
    """In four sums, which do not wait for each other."""
    a = b = c = d = np.float32(0)
    whole = len(right) // 4 * 4
    for i in range(0, whole, 4):
        a += left[i] * right[i]
        b += left[i + 1] * right[i + 1]
        c += left[i + 2] * right[i + 2]
        d += left[i + 3] * right[i + 3]
    for i in range(whole, len(right)):
        a += left[i] * right[i]
    return (a + b) + (c + d)
