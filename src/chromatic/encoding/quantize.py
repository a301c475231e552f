"""From many categories to few bins: the most mutual information with the label.

The categories of a variable stand in order of their positive rate; a quantization cuts them into
intervals. An interval with c rows, of which n are negative, costs

    h(n, c) = c ln c - n ln n - (c - n) ln (c - n)

the label's entropy in it, in nats and times its rows. Less cost is more mutual information. All
variables compete for one number of bins.

Where labels are numbers, the categories stand in order of their mean. An interval of c rows whose labels,
less the mean of all, sum to s costs -s² / (2 v c): the squared error that is left, but for what no cut
changes, over twice the residual variance v. That is in nats too.

`optimal` is exact. Either cost is Monge in the interval's ends, so the least cost is convex in the number
of bins, and one price for all variables finds the best division of the bins among them: at a price a bin,
each variable is cut on its own by a dynamic program with a monotone queue. The price is bisected until
the bins fit; variables that are indifferent at that price take what is left.

`greedy` adds the best cut of all, one by one (the paper's, within 1 - 1/e of the best). `sort` cuts each
variable alone and keeps the cuts that each variable would miss most (Bateni et al. 2019).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chromatic._numba import inlined, kernel

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Sums = tuple[Floats, Floats, float]  # what the cost of any interval follows from


@dataclass(frozen=True)
class Groups:
    """The categories of all variables, those of equal rate merged, by variable and then by rate.

    The groups of variable k are starts[k] to starts[k + 1]. `rows` and `negatives` need not be whole
    numbers: smoothing moves them.
    """

    starts: Integers
    rows: Floats
    negatives: Floats  # or the sums of labels that are numbers, less their mean
    spread: float = 0.0  # twice the residual variance of labels that are numbers; 0: they are 0 and 1

    @property
    def n_variables(self) -> int:
        return len(self.starts) - 1

    def sums(self) -> Sums:
        """The sums of rows and negatives before each group, within all variables, and the spread."""
        rows, negatives = (np.concatenate(([0.0], np.cumsum(one))) for one in (self.rows, self.negatives))
        return rows, negatives, float(self.spread)

    def alone(self, variable: int) -> Groups:
        """The groups of one variable."""
        part = slice(self.starts[variable], self.starts[variable + 1])
        starts = np.array([0, part.stop - part.start])
        return Groups(starts, self.rows[part], self.negatives[part], self.spread)


@dataclass(frozen=True)
class Quantization:
    """Where the intervals end: the bins of variable k are ends[starts[k]:starts[k + 1]]."""

    starts: Integers
    ends: Integers  # in the numbering of groups, exclusive
    cost: float

    @property
    def n_bins(self) -> int:
        return len(self.ends)


def quantize(groups: Groups, bins: int, method: str = "optimal", min_gain: float = 0.0) -> Quantization:
    """Cut the variables into at most `bins` intervals in all, at least one each.

    With `optimal`, no bin is made that lowers the cost by less than `min_gain`.

    >>> groups = Groups(np.array([0, 3]), np.array([9.0, 9, 9]), np.array([8.0, 7, 1]))
    >>> quantize(groups, 2).ends.tolist()
    [2, 3]
    """
    if bins < groups.n_variables:
        raise ValueError(f"{bins} bins for {groups.n_variables} variables; expected one each at least")
    if method == "optimal":
        return _optimal(groups, bins, min_gain)
    cuts = _greedy_cuts(groups, bins - groups.n_variables)
    if method == "sort":
        cuts = _most_missed(groups, bins - groups.n_variables)
    return _from_ends(groups, np.sort(np.concatenate((groups.starts[1:], cuts))))


def gains(groups: Groups, bins: int) -> Floats:
    """What each bin after the first of every variable lowers the least cost by, up to `bins` in all.

    The whole curve of `optimal`: the least cost of some bins more than one a variable is the cost of
    those, less as many of the first gains. A variable's least cost is convex in its bins, so a price
    between two known numbers of bins finds one between them, or shows that the cost is straight there;
    and the best bins of all variables together are those with the largest gains.

    >>> gains(Groups(np.array([0, 3]), np.array([9.0, 9, 9]), np.array([8.0, 7, 1])), 3).round(3).tolist()
    [7.0, 0.203]
    """
    of_variables = []
    for k in range(groups.n_variables):
        alone = groups.alone(k)
        of_variables.append(_gains_of_one(alone, min(bins, len(alone.rows))))
    descending = -np.sort(-np.concatenate(of_variables)) if of_variables else np.empty(0)
    return descending[: max(0, bins - groups.n_variables)]


def _gains_of_one(groups: Groups, most: int) -> Floats:
    """The gains of one variable, descending; each price that is tried tells one more point of it."""

    exact = quantize(groups, most)
    whole = cost_of(groups, np.array([0, 1]), groups.starts[1:])
    slack = 1e-12 * max(abs(whole), abs(exact.cost))
    out = np.zeros(exact.n_bins - 1)
    spans = [((1, whole), (exact.n_bins, exact.cost))]
    while spans:
        (few, high), (many, low) = spans.pop()
        if many == few:
            continue
        slope = (high - low) / (many - few)
        out[few - 1 : many - 1] = slope
        if many > few + 1 and slope > 0:
            at = quantize(groups, len(groups.rows), min_gain=slope)
            if few < at.n_bins < many and at.cost < high - slope * (at.n_bins - few) - slack:
                spans += [((few, high), (at.n_bins, at.cost)), ((at.n_bins, at.cost), (many, low))]
    return out


def _from_ends(groups: Groups, ends: Integers) -> Quantization:
    starts = np.concatenate(([0], np.searchsorted(ends, groups.starts[1:], side="right")))
    return Quantization(starts, ends, cost_of(groups, starts, ends))


def cost_of(groups: Groups, starts: Integers, ends: Integers) -> float:
    """The cost of intervals: what the variables leave unsaid about the label, in nats."""
    rows, negatives, spread = groups.sums()
    begins = np.concatenate(([0], ends[:-1]))
    begins[starts[:-1]] = groups.starts[:-1]
    c, n = rows[ends] - rows[begins], negatives[ends] - negatives[begins]
    if spread:
        return -float((n * n / np.where(c > 0, c, 1.0)).sum() / spread)
    return float((_xlogx(c) - _xlogx(n) - _xlogx(c - n)).sum())


def _xlogx(x: Floats) -> Floats:
    return np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0)), 0.0)


def _optimal(groups: Groups, bins: int, min_gain: float) -> Quantization:
    sums, size = groups.sums(), len(groups.rows) + 1
    scratch = np.empty(size), np.empty(size, np.int64), np.empty((3, size), np.int64)

    def cut(price: float) -> Integers:
        ends = np.empty(size, np.int64)
        used = _cut_at_price(groups.starts, sums, price, *scratch, ends)
        return ends[:used].copy()

    fitting = cut(min_gain)
    if len(fitting) > bins:
        low, high = min_gain, max(2 * min_gain, 1.0)
        too_many, fitting = fitting, cut(high)
        while len(fitting) > bins:
            low, high, too_many = high, 4 * high, fitting
            fitting = cut(high)
        for step in range(200):
            middle = _price_between(low, high, len(too_many), len(fitting), bins, halve=step % 3 == 2)
            if len(fitting) == bins or not low < middle < high or high - low < 1e-13 * high:
                break
            ends = cut(middle)
            if len(ends) > bins:
                low, too_many = middle, ends
            else:
                high, fitting = middle, ends
        fitting = _fill(groups, fitting, too_many, bins)
    return _from_ends(groups, fitting)


def _price_between(low: float, high: float, many: int, few: int, bins: int, *, halve: bool) -> float:
    """Where the price of `bins` is guessed: bins fall about as a power of the price."""
    if halve or low <= 0.0:
        return (low + high) / 2
    share = np.log(many / bins) / np.log(many / few)
    return float(low * (high / low) ** min(max(share, 0.02), 0.98))


def _fill(groups: Groups, few: Integers, many: Integers, bins: int) -> Integers:
    """Both are best at one price: give variables their many ends, one after the other, while bins last.

    The last one may take some of them. By Monge's inequality a path with any number of intervals
    between is as good: it follows the short path, and crosses to the long one where an interval of
    the long path lies inside one of the short (Aggarwal, Schieber and Tokuyama 1994).
    """
    left = bins - len(few)
    parts = []
    for start, stop in zip(groups.starts[:-1], groups.starts[1:], strict=True):
        short = few[np.searchsorted(few, start, "right") : np.searchsorted(few, stop, "right")]
        long = many[np.searchsorted(many, start, "right") : np.searchsorted(many, stop, "right")]
        more = min(left, len(long) - len(short))
        if more > 0:
            ahead = len(long) - len(short) - more
            j = int(np.argmax(long[ahead : ahead + len(short)] <= short))
            short = np.concatenate((short[:j], long[ahead + j :]))
            left -= more
        parts.append(short)
    return np.concatenate(parts)


def _greedy_cuts(groups: Groups, cuts: int) -> Integers:
    best = np.empty(max(0, min(cuts, len(groups.rows) - groups.n_variables)), np.int64)
    size = len(best) + groups.n_variables
    queue = np.empty(size), np.empty((3, size), np.int64), np.empty(size, np.int64)
    used = _split_greedily(groups.starts, groups.sums(), queue, best)
    return best[:used]


def _most_missed(groups: Groups, cuts: int) -> Integers:
    """Each variable is cut alone with all the cuts; the cuts that it would miss most are kept."""
    sums = groups.sums()
    kept, missed = [np.empty(0, np.int64)], [np.empty(0)]
    for k in range(groups.n_variables):
        first, last = groups.starts[k : k + 2]
        inner = np.sort(_greedy_cuts(groups.alone(k), cuts)) + first
        ends = np.concatenate(([first], inner, [last]))
        kept.append(inner)
        of_cuts = [
            _cost(sums, ends[i - 1], ends[i + 1])
            - _cost(sums, ends[i - 1], ends[i])
            - _cost(sums, ends[i], ends[i + 1])
            for i in range(1, len(ends) - 1)
        ]
        missed.append(np.array(of_cuts))
    order = np.argsort(-np.concatenate(missed), kind="stable")
    return np.concatenate(kept)[order[: max(0, cuts)]]


@kernel
def _plus(x):  # type: ignore[no-untyped-def]
    return x * np.log(x) if x > 0.0 else 0.0


@kernel
def _cost(sums, i, j):  # type: ignore[no-untyped-def]
    """What the groups i to j cost; h is clipped, as differences of sums are not exact."""
    rows, negatives, spread = sums
    c = rows[j] - rows[i]
    if spread > 0.0:
        n = negatives[j] - negatives[i]
        return -n * n / (c * spread) if c > 0.0 else 0.0
    n = min(max(negatives[j] - negatives[i], 0.0), c)
    return _plus(c) - _plus(n) - _plus(c - n)


@kernel
def _cut_at_price(starts, sums, price, best, before, queue, ends):  # type: ignore[no-untyped-def]
    """The cheapest intervals of each variable where each costs `price` more; how many there are.

    best[j] is the least cost of the groups before j, before[j] the start of the last interval. As costs are
    Monge, once start i is better than an earlier start for an end j, it is so for all later ends: the
    queue holds the starts that are best for some ends to come, with the first end of each.
    """
    count = np.int64(0)
    for k in range(len(starts) - 1):
        first, last = starts[k], starts[k + 1]
        best[first] = 0.0
        head, tail = np.int64(0), np.int64(1)
        queue[0, 0] = first
        queue[1, 0] = first + 1
        for j in range(first + 1, last + 1):
            while head + 1 < tail and queue[1, head + 1] <= j:
                head += 1
            i = queue[0, head]
            best[j] = best[i] + _cost(sums, i, j) + price
            before[j] = i
            if j == last:
                break
            while True:
                i, begin = queue[0, tail - 1], max(queue[1, tail - 1], j + 1)
                if best[j] + _cost(sums, j, begin) < best[i] + _cost(sums, i, begin):
                    tail -= 1
                    if tail > head:
                        continue
                    tail = head
                    at = np.int64(j + 1)
                else:
                    low, high = begin, last + 1  # the first end for which j is better than i
                    while low + 1 < high:
                        middle = (low + high) // 2
                        to = min(middle, last)
                        if middle <= last and best[j] + _cost(sums, j, to) < best[i] + _cost(sums, i, to):
                            high = middle
                        else:
                            low = middle
                    at = np.int64(high)
                break
            if at <= last:
                queue[0, tail] = j
                queue[1, tail] = at
                tail += 1
        size = np.int64(0)
        j = last
        while j > first:
            queue[2, size] = j
            size += 1
            j = before[j]
        for q in range(size - 1, -1, -1):
            ends[count] = queue[2, q]
            count += 1
    return count


@inlined
def _best_split(sums, i, j):  # type: ignore[no-untyped-def]
    """The cut of the groups i to j that lowers the cost most, and by how much."""
    whole = _cost(sums, i, j)
    gain, at = 0.0, np.int64(-1)
    for s in range(i + 1, j):
        g = whole - _cost(sums, i, s) - _cost(sums, s, j)
        if g > gain:
            gain, at = g, np.int64(s)
    return gain, at


@inlined
def _before(gains, spans, a, b):  # type: ignore[no-untyped-def]
    """Whether interval a is to be split before b: by gain, then from the left."""
    return gains[a] > gains[b] or (gains[a] == gains[b] and spans[0, a] < spans[0, b])


@kernel
def _sift_up(gains, spans, heap, at):  # type: ignore[no-untyped-def]
    x = heap[at]
    while at > 0 and _before(gains, spans, x, heap[(at - 1) // 2]):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = x


@kernel
def _sift_down(gains, spans, heap, size):  # type: ignore[no-untyped-def]
    at = np.int64(0)
    x = heap[0]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _before(gains, spans, heap[child + 1], heap[child]):
            child += 1
        if not _before(gains, spans, heap[child], x):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = x


@kernel
def _split_greedily(starts, sums, queue, best):  # type: ignore[no-untyped-def]
    """Split the interval with the best cut, again and again; the cuts in order, and how many.

    A cut touches one interval only, so the best cuts of the others need not be sought again: a heap
    keeps them.
    """
    gains, spans, heap = queue
    size = np.int64(0)
    for k in range(len(starts) - 1):
        spans[0, size], spans[1, size] = starts[k], starts[k + 1]
        gains[size], spans[2, size] = _best_split(sums, starts[k], starts[k + 1])
        heap[size] = size
        _sift_up(gains, spans, heap, size)
        size += 1
    for step in range(len(best)):
        top = heap[0]
        if gains[top] <= 0.0:
            return np.int64(step)
        at, stop = spans[2, top], spans[1, top]
        best[step] = at
        spans[1, top] = at
        gains[top], spans[2, top] = _best_split(sums, spans[0, top], at)
        _sift_down(gains, spans, heap, size)
        spans[0, size], spans[1, size] = at, stop
        gains[size], spans[2, size] = _best_split(sums, at, stop)
        heap[size] = size
        _sift_up(gains, spans, heap, size)
        size += 1
    return np.int64(len(best))
