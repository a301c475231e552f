"""Every figure of the paper's appendix from its definition: rows are sets, each figure a loop over them."""

import math
from itertools import combinations

from naive.graph import good_turing, new_pairs, thinned


def of_graph(rows, n_features, k, without=(), delta=0.01):
    """The figures of G^(k), or of the graph without some features, which cost a color each."""
    neighbors = thinned(rows, n_features, k, without)
    vertices = [v for v in range(n_features) if v not in without]
    n, edges = len(rows), sum(map(len, neighbors)) / 2
    new = good_turing(rows, k, without) / n
    largest = max(map(len, neighbors), default=0)
    off = [k * max(map(len, rows)) ** 2 * doubt for doubt in doubts(n, delta)]
    return {
        "edges": edges,
        "max_degree": largest,
        "avg_degree": 2 * edges / len(vertices) if vertices else 0,
        "good_turing": new,
        "good_turing_seen": good_turing(rows, k, without, known_only=True) / n,
        "colors_needed": len(without) + 2 * largest + new + off[0],
        "colors_needed_mcdiarmid": len(without) + 2 * largest + new + off[1],
    }


def doubts(n, delta):
    """The paper's log(1/δ) / √n, and McDiarmid's √(log(1/δ) / 2n)."""
    return math.log(1 / delta) / math.sqrt(n), math.sqrt(math.log(1 / delta) / (2 * n))


def of_test_rows(test, rows, k, without=()):
    """New edges of a test row, on average: of all features, and of those that training has."""
    new, seen = (
        [new_pairs(row, rows, k, without, known_only) for row in test] for known_only in (False, True)
    )
    return {"new_edges": sum(new) / len(test), "new_edges_seen": sum(seen) / len(test)}


def of_uniform(rows, n_features, k, without, task):
    """What a uniform coloring of the features outside W promises; task: m of those, and δ."""
    m, delta = task
    figures = of_graph(rows, n_features, k, without)
    v, d = n_features - len(without), figures["avg_degree"]
    spare = m - 2 * figures["max_degree"]
    off = [k * max(map(len, rows)) ** 2 * doubt for doubt in doubts(len(rows), delta)]
    return {
        "held_out": len(without),
        "max_degree_left": figures["max_degree"],
        "expected_collisions": figures["good_turing_seen"] / spare,
        "bound": (figures["good_turing"] + off[0]) / spare,
        "bound_mcdiarmid": (figures["good_turing"] + off[1]) / spare,
        "steps_of_the_paper": math.ceil(m / spare * v * math.log(v / 0.01)) if v else 0,
        "updates_at_once_of_the_paper": min(v, max(1, int(math.sqrt(v) / d))) if d else v,
    }


def time_split(rows):
    """Rows that estimate, new edges that they foretell, those of later rows, and whether both agree."""
    lengths = sorted(map(len, rows))
    most = lengths[math.ceil(0.99 * (len(rows) - 1))]
    usual = [row for row in rows if len(row) <= most]
    cut = int(0.75 * len(usual))
    first, last = usual[:cut], usual[cut:]
    estimated = good_turing(first, 1) / cut
    seen = sum(new_pairs(row, first, 1) for row in last) / len(last)
    pairs = [len(row) * (len(row) - 1) / 2 for row in last]
    mean = sum(pairs) / len(pairs)
    error = math.sqrt(sum((p - mean) ** 2 for p in pairs)) / len(pairs)
    holds = abs(seen - estimated) <= 0.05 * estimated + 3 * error
    return {"rows": cut, "good_turing": estimated, "new_edges": seen, "holds": holds}


def above_chance(rows, n_features):
    """Every pair above chance, least likely first: ends, rows, lift, log of the corrected p-value."""
    n, found = len(rows), []
    counts = [sum(v in row for row in rows) for v in range(n_features)]
    for u, v in combinations(range(n_features), 2):
        both, a, b = sum(u in row and v in row for row in rows), counts[u], counts[v]
        if both * n > a * b:
            ways = sum(math.comb(a, x) * math.comb(n - a, b - x) for x in range(both, min(a, b) + 1))
            tail = math.log(ways) - math.log(math.comb(n, b))
            tests = math.log(math.comb(n_features, 2))
            found.append((tail + tests, v, u, both, both * n / (a * b)))
    return [(u, v, both, lift, log_p) for log_p, v, u, both, lift in sorted(found)]


def pairs_never_seen(rows, n_features):
    """The share of all pairs that no row has."""
    pairs = list(combinations(range(n_features), 2))
    return sum(not any(u in row and v in row for row in rows) for u, v in pairs) / max(1, len(pairs))


def collisions(rows, colors):
    """|T| - |c(T)| of a row, on average."""
    return sum(len(row) - len({colors[v] for v in row}) for row in rows) / len(rows)
