"""Entries of embeddings, and the sums over them."""

from itertools import accumulate, chain, combinations


def gather(indptr, index, values, rows):
    """The embeddings of some rows in the order of first sight, and the entries by place among them."""
    entries = [index[indptr[r] : indptr[r + 1]].tolist() for r in rows]
    unique = list(dict.fromkeys(chain.from_iterable(entries)))
    local = [unique.index(j) for j in chain.from_iterable(entries)]
    weights = [values[indptr[r] : indptr[r + 1]].tolist() for r in rows] if len(values) else []
    starts = list(accumulate((len(row) for row in entries), initial=0))
    return unique, starts, local, list(chain.from_iterable(weights))


def concatenation(rows, embeddings, fields, n_fields):
    """The fields' embeddings side by side, times their values; rows are lists of (embedding, value)."""
    width = len(embeddings[0])
    return [
        [
            sum(value * embeddings[j][i] for j, value in row if fields[j] == field)
            for field in range(n_fields)
            for i in range(width)
        ]
        for row in rows
    ]


def pairwise_products(rows, embeddings):
    """The sum over pairs of entries of the products of their embeddings, number by number."""
    width = len(embeddings[0])
    return [
        [
            sum(v * embeddings[j][i] * w * embeddings[k][i] for (j, v), (k, w) in combinations(row, 2))
            for i in range(width)
        ]
        for row in rows
    ]
