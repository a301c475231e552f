"""Features counted, and rows coded by a vocabulary."""

from collections import Counter

from naive.hashing import signed, xxh64
from naive.text import is_integer


def vocabulary(rows, dense_threshold, min_count):
    """The sparse and the dense features of rows, in order, and how many are too rare."""
    counts = Counter(name for _, row in rows for name in row)
    if all(is_integer(name) for name in counts):
        order = sorted(counts, key=lambda name: (-counts[name], int(name)))
    else:
        order = sorted(counts, key=lambda name: (-counts[name], signed(xxh64(name))))
    dense = [name for name in order if counts[name] > dense_threshold * len(rows)]
    sparse = [name for name in order if name not in dense and counts[name] >= min_count]
    return sparse, dense, len(order) - len(sparse) - len(dense)


def encode(rows, sparse, dense):
    """Per row the ascending codes and the dense values; values elided and features unknown."""
    codes, blocks, elided, unseen = [], [], 0, 0
    code_of = {name: code for code, name in enumerate(sparse)}
    for _, row in rows:
        codes.append(sorted(code_of[name] for name in row if name in code_of))
        blocks.append([row.get(name, 0.0) for name in dense])
        elided += sum(name in code_of and value != 1.0 for name, value in row.items())
        unseen += sum(name not in code_of and name not in dense for name in row)
    return codes, blocks, elided, unseen


def value_bins(values, most):
    """The upper edges of the bins of a feature's values: all of them, or those at quantiles."""
    values = sorted(values)
    if len(set(values)) <= most:
        return sorted(set(values))
    edges = {}
    for i, value in enumerate(values, 1):
        if i == len(values) or values[i] != value:
            edges[i * most // len(values)] = value
    return sorted(edges.values())


def merge(rows):
    """The distinct rows in the order in which they first come, and how many there are of each."""
    counts = {}
    for row in rows:
        counts[row] = counts.get(row, 0) + 1
    return list(counts.items())


def placed_names(names, places, n_places):
    """Of the names with each place, the first; None where there is none."""
    first = [None] * n_places
    for name, place in zip(names, places, strict=True):
        if place < n_places and first[place] is None:
            first[place] = name
    return first


def numbered(strings):
    """The number of each string in the order in which they first come, and the distinct ones."""
    numbers = {}
    return [numbers.setdefault(string, len(numbers)) for string in strings], list(numbers)


def distinct_features(rows):
    """Each row with every feature once, where it first stood."""
    return [list(dict.fromkeys(row)) for row in rows]
