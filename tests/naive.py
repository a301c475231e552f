"""The slow, obvious twin of every kernel: no numpy tricks, one row at a time."""

import math
import re
from collections import Counter
from functools import cache
from itertools import accumulate, chain, combinations, pairwise

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")
MASK = (1 << 64) - 1


def number(text):
    """A finite number, or None; -0 is 0."""
    if not NUMBER.match(text) or not math.isfinite(float(text)):
        return None
    return float(text) + 0.0


def words(line):
    return [word for word in re.split(rb"[\x00-\x20]+", line) if word]


def is_integer(token):
    return token.isdigit() and token.isascii() and int(token) < 1 << 32 and token == b"%d" % int(token)


def feature(word):
    """(name, value) of a word `name[:value]`; None where it is malformed."""
    name, colon, value = word.rpartition(b":")
    if not colon:
        return word, 1.0
    if not name or number(value) is None:
        return None
    return name, number(value)


def parse(text, format):
    """Rows (label, {feature: value}) of text, and the numbers of its bad lines."""
    rows, bad = [], []
    for i, line in enumerate(text.split(b"\n"), 1):
        parsed = {"svmlight": svmlight, "tokens": tokens, "vw": vw}[format](line)
        if parsed is None:
            bad.append(i)
        elif parsed:
            rows.append(parsed)
    return rows, bad


def once(label, features):
    """A row with each feature once, where it first stood, with its last value, and no zeros."""
    row = {}
    for name, value in features:
        if value != 0.0:
            row[name] = value
    return label, row


def svmlight(line):
    parts = words(line)
    if not parts or parts[0].startswith(b"#"):
        return ()
    if number(parts[0]) is None:
        return None
    label, rest = number(parts[0]), parts[1:]
    if rest and rest[0].startswith(b"qid:"):
        rest = rest[1:]
    comment = next((i for i, word in enumerate(rest) if word.startswith(b"#")), len(rest))
    features = [feature(word) for word in rest[:comment]]
    return None if None in features else once(label, features)


def tokens(line):
    parts = words(line)
    if not parts:
        return ()
    if number(parts[0]) is None:
        return None
    return once(number(parts[0]), [(word, 1.0) for word in parts[1:]])


def vw(line):
    if not words(line):
        return ()
    head, bar, body = line.partition(b"|")
    if not bar:
        return None
    parts = words(head)
    if parts and head[-1] > 32:
        parts.pop()  # a tag touches the bar
    parts = [word for word in parts if not word.startswith(b"'")]
    if len(parts) > 3 or any(number(word) is None for word in parts):
        return None
    label = number(parts[0]) if parts else math.nan
    features = []
    for section in body.split(b"|"):
        name = re.match(rb"[^\x00-\x20]*", section).group()
        rest = words(section[len(name) :])
        if b":" in name or len(name) > 255:
            return None
        for word in rest:
            parsed = feature(word)
            if parsed is None:
                return None
            prefix = name + b"^" if name else b""
            features.append((prefix + parsed[0], parsed[1]))
    return once(label, features)


def rotate(x, bits):
    return ((x << bits) | (x >> (64 - bits))) & MASK


P1, P2, P3, P4, P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)


def xxh64(data):
    """From the specification of XXH64, seed 0."""

    def mix(lane, word):
        return rotate((lane + word * P2) & MASK, 31) * P1 & MASK

    i, n = 0, len(data)
    if n >= 32:
        lanes = [(P1 + P2) & MASK, P2, 0, -P1 & MASK]
        while i + 32 <= n:
            lanes = [
                mix(lane, int.from_bytes(data[i + 8 * k : i + 8 * k + 8], "little"))
                for k, lane in enumerate(lanes)
            ]
            i += 32
        h = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK
        for lane in lanes:
            h = ((h ^ mix(0, lane)) * P1 + P4) & MASK
    else:
        h = P5
    h = (h + n) & MASK
    while i + 8 <= n:
        h = (rotate(h ^ mix(0, int.from_bytes(data[i : i + 8], "little")), 27) * P1 + P4) & MASK
        i += 8
    if i + 4 <= n:
        h = (rotate(h ^ (int.from_bytes(data[i : i + 4], "little") * P1 & MASK), 23) * P2 + P3) & MASK
        i += 4
    for byte in data[i:]:
        h = rotate(h ^ (byte * P5 & MASK), 11) * P1 & MASK
    h = (h ^ (h >> 33)) * P2 & MASK
    h = (h ^ (h >> 29)) * P3 & MASK
    return h ^ (h >> 32)


def signed(h):
    return h - (1 << 64) if h >> 63 else h


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


def draw(seed, v, n):
    """The number below n that seed and v draw."""
    z = ((seed & MASK) ^ (v * 0xD1342543DE82EF95 & MASK)) + 0x9E3779B97F4A7C15 & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    z ^= z >> 31
    return (z >> 32) * n >> 32


def greedy(rows, n_features, fit, palette, seed=0):
    """Greedy coloring of the graph of rows (sets of codes), in the order of codes."""
    neighbors, _ = cooccurrence(rows, n_features)
    columns = [[row for row in rows if v in row] for v in range(n_features)]
    colors, mass, forced, conflicts = {}, Counter(), 0, 0
    n_open = palette if fit == "random" else 0
    for v in range(n_features):
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


def entropy(rows, negatives):
    """h of an interval: the label's entropy in nats, times the rows."""

    def xlogx(x):
        return x * math.log(x) if x > 0 else 0.0

    return xlogx(rows) - xlogx(negatives) - xlogx(rows - negatives)


def interval(groups, i, j):
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


def mix(z):
    """The finalizer of SplitMix64."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def row_hashes(rows, keys, seed):
    """A hash of each row (a set of codes), of its number among equal ones, and of the seed."""
    seen, hashes = Counter(), []
    for row in rows:
        total = sum(mix(keys[v]) for v in row) & MASK
        number = mix((seen[total] + 0x9E3779B97F4A7C15) & MASK)
        hashes.append(mix((total + number + mix((seed + 0xD1B54A32D192ED03) & MASK)) & MASK))
        seen[total] += 1
    return hashes


def label_counts(rows, positive, fold, n_features, n_folds):
    """Per feature and fold the rows and the positives; the last line is of all rows."""
    counts = [[0] * n_folds for _ in range(n_features + 1)]
    positives = [[0] * n_folds for _ in range(n_features + 1)]
    for row, y, f in zip(rows, positive, fold, strict=True):
        if f >= 0:
            for v in [*row, n_features]:
                counts[v][f] += 1
                positives[v][f] += y
    return counts, positives


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

    First-fit colors; rates from the estimating rows alone, as they are; cuts added one by one where the
    sum of mutual information grows most; features without an estimate are null.
    """
    colors, n_colors, _, _ = greedy(rows, n_features, "first-fit", budget // 2)
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


def synthetic_draw(key, *numbers):
    """A draw of 64 bits: a key, and (odd number, factor) pairs to add to it."""
    return mix((key + sum(odd * factor for odd, factor in numbers)) & MASK)


def synthetic_moment(time, chance):
    """A moment up to a time: one in sixteen is of the last 1024 rows."""
    if chance >> 56 < 16:
        return abs(time - ((chance >> 16) % 1024 >> (chance >> 48) % 16))
    return time * ((chance >> 16) % 2**32) >> 32


@cache
def synthetic_sizes(sizes):
    return sizes.table().tolist()


def synthetic_row(shape, t, seed):
    """(label, sorted features with their values) of row t of a shape."""
    row = synthetic_draw(mix(seed), (0x9E3779B97F4A7C15, t))
    chance = synthetic_draw(row, (0xC2B2AE3D27D4EB4F, 1))
    low, high = shape.contexts
    level = low + chance % 4096 * (high + 1 - low) // 4096
    cell = synthetic_moment(t, chance) >> level
    context = synthetic_draw(synthetic_draw(seed, (0xC2B2AE3D27D4EB4F, level)), (0x9E3779B97F4A7C15, cell))
    found = {}
    for i, odds in enumerate(shape.dense):
        chance = synthetic_draw(row, (0xE7037ED1A0B428DB, i + 1))
        if chance >> 32 < round(odds * 2**32):
            found[i + 1] = (chance % 65536 % 999 + 1) / 1000 if i % 3 else 1.0
    fixed = len(shape.dense) + 1
    first = fixed + sum(len(field.fixed) for field in shape.fields)
    per_epoch = sum(1024 >> k for field in shape.fields for k in range(field.lowest, field.highest + 1))
    slot = 0
    for f, field in enumerate(shape.fields):
        place = (0xBF58476D1CE4E5B9, f + 1)
        size = 1
        if field.sizes is not None:
            sizes = synthetic_sizes(field.sizes)
            rank = synthetic_draw(row, place, (0xD6E8FEB86659FD93, 1)) % 16384
            if rank < 16380:
                rank = min(synthetic_draw(context, place, (0xD6E8FEB86659FD93, 1)) % 16384, 16379)
            size = sizes[rank]
        ends = [round(sum(field.fixed[: i + 1]) * 4096) for i in range(len(field.fixed))]
        start = ends[-1] if ends else 0
        for j in range(size):
            value = (0x94D049BB133111EB, j + 1)
            own = synthetic_draw(row, place, value)
            if own % 65536 < round(field.noise * 65536):
                when, chance = synthetic_moment(t, own), synthetic_draw(own, (0xD6E8FEB86659FD93, 1))
            else:
                when, chance = cell << level, synthetic_draw(context, place, value)
            share = chance % 4096
            if share < start:
                feature = fixed + next(i for i, end in enumerate(ends) if share < end)
            else:
                names = field.highest + 1 - field.lowest
                drawn = field.lowest + (share - start) * names // (4096 - start)
                moment = abs(when - ((chance >> 16) % 2**24 * field.spread * 2**drawn >> 24))
                before = sum(1024 >> k for k in range(field.lowest, drawn))
                feature = first + moment // 1024 * per_epoch + slot + before + (moment % 1024 >> drawn)
            found[feature] = 1.0
        fixed += len(field.fixed)
        slot += sum(1024 >> k for k in range(field.lowest, field.highest + 1))
    weights = {f: (synthetic_draw(0, (0x8EBC6AF09C88C6E3, f)) >> 11) * 2.0**-52 - 1 for f in found}
    score = shape.bias + shape.strength * sum(weights[f] * found[f] for f in found)
    chance = (synthetic_draw(row, (0xA0761D6478BD642F, 1)) >> 11) * 2.0**-53
    return int(chance < 1 / (1 + math.exp(-score))), sorted(found.items())


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
