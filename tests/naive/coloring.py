"""Colorings of rows and of graphs, a feature at a time."""

from collections import Counter

from naive.graph import cooccurrence
from naive.hashing import MASK, draw, mix


def greedy(rows, n_features, fit, palette, seed=0, order="count"):
    """Greedy coloring of the graph of rows (sets of codes), in the order of codes or of degrees."""
    neighbors, _ = cooccurrence(rows, n_features)
    columns = [[row for row in rows if v in row] for v in range(n_features)]
    colors, mass, forced, conflicts = {}, Counter(), 0, 0
    n_open = palette if fit == "random" else 0
    for v in sorted(range(n_features), key=lambda v: -len(neighbors[v]) if order == "degree" else v):
        taken = {colors[u] for u in neighbors[v] if u in colors}
        free = [c for c in range(n_open) if c not in taken]
        if fit == "random":
            choice = free[draw(seed, v, len(free))] if free else None
        elif free:
            choice = free[0] if fit == "first-fit" else min(free, key=lambda c: (mass[c], c))
        else:
            choice = n_open if n_open < palette else None
        if choice is None:
            met = [sum(any(colors.get(u) == c for u in row) for row in columns[v]) for c in range(n_open)]
            choice = min(range(n_open), key=lambda c: (met[c], mass[c], c))
            forced, conflicts = forced + 1, conflicts + met[choice]
        n_open = max(n_open, choice + 1)
        colors[v] = choice
        mass[choice] += len(columns[v])
    return [colors[v] for v in range(n_features)], n_open, forced, conflicts


def represent(rows, colors):
    """Rows with the highest code of each color, ascending."""
    return [sorted({colors[v]: v for v in sorted(row)}.values()) for row in rows]


def expected_collisions(rows, n_features, palette, seed):
    """The certificate of a random coloring, every feature counted."""
    counts = [sum(v in row for row in rows) for v in range(n_features)]
    neighbors, edges = cooccurrence(rows, n_features)
    colors, _, _, conflicts = greedy(rows, n_features, "random", palette, seed)
    total = conflicts
    for v in range(n_features):
        free = palette - len({colors[u] for u in neighbors[v] if u < v})
        once = sum(edges[u, v] == 1 and counts[u] > 1 for u in neighbors[v] if u < v)
        if counts[v] > 1 and free:
            total += once / free
    return total / len(rows)


def color_graph(graph, strategy, palette, seed, order):
    """Greedy coloring of a graph: neighbors, counts of its edges (u, v), u < v, and masses of features."""
    neighbors, counts, mass_of = graph
    colors, mass, forced, conflicts = {}, Counter(), 0, 0
    n_open = palette if strategy == "random" else 0
    for v in order:
        taken = {colors[u] for u in neighbors[v] if u in colors}
        free = [c for c in range(n_open) if c not in taken]
        if free and strategy == "random":
            choice = free[draw(seed, v, len(free))]
        elif free:
            choice = free[0] if strategy == "first-fit" else min(free, key=lambda c: (mass[c], c))
        elif n_open < palette:
            choice = n_open
        else:
            met = Counter()
            for u in neighbors[v]:
                if u in colors:
                    met[colors[u]] += counts[min(u, v), max(u, v)]
            choice = min(range(palette), key=lambda c: (met[c], mass[c], c))
            forced, conflicts = forced + 1, conflicts + met[choice]
        n_open = max(n_open, choice + 1)
        colors[v] = choice
        mass[choice] += mass_of[v]
    return [colors[v] for v in range(len(neighbors))], n_open, forced, conflicts


def glauber_step(neighbors, features, colors, task):
    """Each feature in turn takes the first color of its stream of draws that no neighbor has."""
    m, seed, sweep = task
    key = mix((seed + 0x9E3779B97F4A7C15 * (sweep + 1)) & MASK)
    for v in features:
        word = mix(key ^ (v * 0xD1342543DE82EF95 & MASK))
        while (word >> 32) * m >> 32 in [colors[u] for u in neighbors[v]]:
            word = mix((word + 0x9E3779B97F4A7C15) & MASK)
        colors[v] = (word >> 32) * m >> 32


def proper_colorings(neighbors, m):
    """All of them."""
    colorings = [()]
    for v, around in enumerate(neighbors):
        colorings = [
            (*c, x) for c in colorings for x in range(m) if all(c[u] != x for u in around if u < v)
        ]
    return colorings


def extend(rows, colors, masses, n_colors):
    """Colors for the features after those that have one: the lightest free, else the fewest conflicts."""
    colors, mass = list(colors), Counter()
    for v, color in enumerate(colors):
        mass[color] += masses[v]
    forced = conflicts = 0
    for v in range(len(colors), len(masses)):
        met = Counter()
        for row in rows:
            if v in row:
                met.update({colors[u] for u in row if u < len(colors)})
        free = [c for c in range(n_colors) if not met[c]]
        if free:
            choice = min(free, key=lambda c: (mass[c], c))
        else:
            choice = min(range(n_colors), key=lambda c: (met[c], mass[c], c))
            forced, conflicts = forced + 1, conflicts + met[choice]
        colors.append(choice)
        mass[choice] += sum(v in row for row in rows)
    return colors, forced, conflicts


def color_sample(rows, counts, palette):
    """Balanced colors by the rows of a sample; a feature that it lacks takes the lightest color."""
    has = sorted(set().union(*rows))
    compact = [{has.index(v) for v in row} for row in rows]
    of_sample, n_colors, forced, conflicts = greedy(compact, len(has), "balanced", palette)
    colors, mass = dict(zip(has, of_sample, strict=True)), Counter()
    for v, color in colors.items():
        mass[color] += counts[v]
    for v in range(len(counts)):
        if v not in colors:
            colors[v] = min(range(max(n_colors, 1)), key=lambda c: (mass[c], c))
            mass[colors[v]] += counts[v]
    return [colors[v] for v in range(len(counts))], max(n_colors, 1), forced, conflicts
