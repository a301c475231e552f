"""The graph of rows, as sets of neighbors."""

from collections import Counter


def cooccurrence(rows, n_features):
    """Edges as sets of neighbors, and how many rows each edge is in."""
    neighbors, edges = [set() for _ in range(n_features)], Counter()
    for row in rows:
        for u in row:
            for v in row:
                if u < v:
                    neighbors[u].add(v)
                    neighbors[v].add(u)
                    edges[u, v] += 1
    return neighbors, edges


def thinned(rows, n_features, k, without=()):
    """Neighbors in the graph of edges seen in k rows or more, without some features."""
    neighbors = [set() for _ in range(n_features)]
    for (u, v), seen in cooccurrence(rows, n_features)[1].items():
        if seen >= k and u not in without and v not in without:
            neighbors[u].add(v)
            neighbors[v].add(u)
    return neighbors


def good_turing(rows, k, without=(), known_only=False):
    """Pairs of each row that fewer than k of the other rows have: leave one out, by definition."""
    total = 0
    for i, row in enumerate(rows):
        others = rows[:i] + rows[i + 1 :]
        total += new_pairs(row, others, k, without, known_only)
    return total


def new_pairs(row, others, k, without=(), known_only=False):
    """Pairs of a row that fewer than k others have."""
    known = set().union(*others) if others else set()
    features = sorted(v for v in row if v not in without and (v in known or not known_only))
    pairs = [(u, v) for i, v in enumerate(features) for u in features[:i]]
    return sum(sum(u in other and v in other for other in others) < k for u, v in pairs)


def largest_degree(neighbors, left):
    return max((len(neighbors[v] & left) for v in left), default=0)


def held_out(neighbors, taken):
    """Whether features are a largest-first prefix, the smallest with |W| >= 2 Δ_f; that Δ_f."""
    left = set(range(len(neighbors)))
    for step, v in enumerate(taken):
        largest = largest_degree(neighbors, left)
        if step >= 2 * largest or len(neighbors[v] & left) != largest:
            return None
        left.remove(v)
    largest = largest_degree(neighbors, left)
    return largest if len(taken) >= 2 * largest else None
