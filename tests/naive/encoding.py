"""Labels counted, categories quantized, and the paper's columns."""

import math
from collections import Counter
from itertools import pairwise

from naive.coloring import greedy, represent
from naive.hashing import MASK, mix


def entropy(rows, negatives):
    """h of an interval: the label's entropy in nats, times the rows."""

    def xlogx(x):
        return x * math.log(x) if x > 0 else 0.0

    return xlogx(rows) - xlogx(negatives) - xlogx(rows - negatives)


def interval(groups, i, j):
    """What an interval costs: h, or of numbers minus the square of their sum over that of rows."""
    if groups.spread:
        return -(sum(groups.negatives[i:j]) ** 2) / (sum(groups.rows[i:j]) * groups.spread)
    return entropy(sum(groups.rows[i:j]), sum(groups.negatives[i:j]))


def least_cost(groups, bins):
    """The least cost of at most so many bins: every number of bins of every variable is tried."""
    best = {0: 0.0}
    for start, stop in zip(groups.starts[:-1], groups.starts[1:], strict=True):
        layer, by_bins = {start: 0.0}, {}
        for m in range(1, stop - start + 1):
            layer = {
                j: min(cost + interval(groups, i, j) for i, cost in layer.items() if i < j)
                for j in range(start + m, stop + 1)
            }
            by_bins[m] = layer[stop]
        best = {
            used: min(cost + by_bins[used - u] for u, cost in best.items() if used - u in by_bins)
            for used in range(1, bins + 1)
            if any(used - u in by_bins for u in best)
        }
    return min(best.values())


def greedy_ends(groups, bins):
    """Add the best cut of all, one by one; of equal ones the leftmost."""
    ends = set(groups.starts[1:].tolist())
    while len(ends) < bins:
        sides = sorted(ends | {0})
        gains = []
        for i, j in pairwise(sides):
            for s in range(i + 1, j):
                gain = interval(groups, i, j) - interval(groups, i, s) - interval(groups, s, j)
                gains.append((gain, -s))
        best = max(gains, default=(0.0, 0))
        if best[0] <= 1e-12:
            break
        ends.add(-best[1])
    return sorted(ends)


def row_hashes(rows, keys, seed):
    """A hash of each row (a set of codes), of its number among equal ones, and of the seed."""
    seen, hashes = Counter(), []
    for row in rows:
        total = sum(mix(keys[v]) for v in row) & MASK
        number = mix((seen[total] + 0x9E3779B97F4A7C15) & MASK)
        hashes.append(mix((total + number + mix((seed + 0xD1B54A32D192ED03) & MASK)) & MASK))
        seen[total] += 1
    return hashes


def label_counts(rows, positive, fold, colors, *, n_colors, n_folds):
    """Per feature and fold the rows and the positives, then per color, and of all rows in the last line."""
    n_features = len(colors)
    counts = [[0] * n_folds for _ in range(n_features + n_colors + 1)]
    positives = [[0] * n_folds for _ in range(n_features + n_colors + 1)]
    for row, y, f in zip(rows, positive, fold, strict=True):
        if f >= 0:
            present = {n_features + colors[v] for v in row}
            for v in [*row, *present, n_features + n_colors]:
                counts[v][f] += 1
                positives[v][f] += y
    return counts, positives


def summed_columns(rows, columns, values, weights, *, colors, n_own, n_linear, absent=None):
    """The columns of each row with their sums; features may share columns, and None has no weight."""
    encoded = []
    for row in rows:
        sums = Counter()
        for v in sorted(row):
            if columns[v] is not None:
                sums[columns[v]] += values[v]
            if n_linear and weights[v] is not None:
                sums[n_own + colors[v] % n_linear] += weights[v]
        for k, column in enumerate(absent or []):
            if all(colors[v] != k for v in row):
                sums[column] += 1.0
        encoded.append([(j, sums[j]) for j in sorted(sums)])
    return encoded


def mutual_information(joint):
    """I(Z;Y) in nats of a table {z: (positives, rows)}, by definition."""
    n = sum(rows for _, rows in joint.values())
    positive = sum(p for p, _ in joint.values()) / n
    total = 0.0
    for p, rows in joint.values():
        for count, share in ((p, positive), (rows - p, 1 - positive)):
            if count:
                total += count / n * math.log(count / n / (rows / n * share))
    return total


def paper_columns(rows, n_features, labels, estimating, budget):
    """The paper's CL+SM: the columns of each row, one of every color, and all colors' information.

    First-fit colors by degree; rates from the estimating rows alone, as they are; cuts added one by one
    where the sum of mutual information grows most; features without an estimate are null.
    """
    colors, n_colors, _, _ = greedy(rows, n_features, "first-fit", budget // 2, order="degree")
    kept = [{colors[v]: v for v in row} for row in represent(rows, colors)]
    used = [i for i in range(len(rows)) if estimating[i]]
    prior = sum(labels[i] for i in used) / len(used)
    tables = []  # for each color, its categories by rate: (rate, {category: (positives, rows)})
    for c in range(n_colors):
        seen = {None: (0, 0)}
        for i in used:
            p, n = seen.get(kept[i].get(c), (0, 0))
            seen[kept[i].get(c)] = p + labels[i], n + 1
        by_rate = {}
        for category, (p, n) in seen.items():
            by_rate.setdefault(p / n if n else prior, {})[category] = (p, n)
        tables.append([by_rate[rate] for rate in sorted(by_rate)])

    def information(c, ends):
        sides = [0, *sorted(ends), len(tables[c])]
        joint = {}
        for z, (i, j) in enumerate(pairwise(sides)):
            counts = [count for group in tables[c][i:j] for count in group.values()]
            joint[z] = sum(p for p, _ in counts), sum(n for _, n in counts)
        return mutual_information(joint)

    cuts = [set() for _ in range(n_colors)]
    for _ in range(budget - n_colors):
        gains = [
            (information(c, cuts[c] | {s}) - information(c, cuts[c]), -c, -s)
            for c in range(n_colors)
            for s in range(1, len(tables[c]))
            if s not in cuts[c]
        ]
        gain, c, s = max(gains, default=(0.0, 0, 0))
        if gain <= 1e-12:
            break
        cuts[-c].add(-s)
    first = [sum(len(cuts[b]) + 1 for b in range(c)) for c in range(n_colors)]

    def column(c, category):
        if not any(category in group for group in tables[c]):
            category = None
        at = next(i for i, group in enumerate(tables[c]) if category in group)
        return first[c] + sum(cut <= at for cut in cuts[c])

    columns = [[column(c, row.get(c)) for c in range(n_colors)] for row in kept]
    return columns, sum(information(c, cuts[c]) for c in range(n_colors))


def one_row(codes, colors, columns):
    """The columns of a row's known codes, of each color the rarest; None makes no column."""
    kept = {colors[v]: v for v in sorted(set(codes))}
    return sorted(columns[v] for v in kept.values() if columns[v] is not None)
