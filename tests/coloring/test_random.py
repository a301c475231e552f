"""What holds only on average, on data large enough to show it."""

import numpy as np
import pytest

from chromatic.coloring import Request, certify, collisions, color, transpose
from chromatic.data import Reader


def drawn(rows, seed):
    """Rows drawn alike: some eight features of a heavy tail over five thousand."""
    random = np.random.default_rng(seed)
    return [np.unique((5000 ** random.random(8)).astype(int)).tolist() for _ in range(rows)]


@pytest.fixture(scope="module")
def data():
    train = Reader().read(drawn(4000, seed=1))
    return train.rows, Reader().read(drawn(4000, seed=2), vocabulary=train.vocabulary).rows


def test_free_colors_are_drawn_uniformly():
    rows = Reader().read([[1]], dense_threshold=2).rows
    drawn = np.bincount([color(rows, Request("random", 8, seed=seed)).colors[0] for seed in range(4000)])
    chi_square = ((drawn - 500) ** 2 / 500).sum()
    assert len(drawn) == 8 and chi_square < 24.3, "0.1 % of uniform samples are this uneven"


def test_the_certificate_holds_on_rows_drawn_alike(data):
    train, test = data
    transposed = transpose(train)
    promised, seen = [], []
    for seed in range(20):
        coloring = color(train, Request("random", 300, seed=seed), transposed=transposed)
        promised.append(certify(train, transposed, coloring).expected)
        seen.append(collisions(test, coloring).mean)
    assert 0.5 * np.mean(promised) < np.mean(seen) < np.mean(promised)


def test_a_sample_of_the_features_estimates_the_certificate(data):
    train, _ = data
    transposed = transpose(train)
    coloring = color(train, Request("random", 300), transposed=transposed)
    whole, part = certify(train, transposed, coloring), certify(train, transposed, coloring, sample=1000)
    assert part.sampled == 1000 and part.standard_error > 0
    assert abs(part.expected - whole.expected) < 4 * part.standard_error


def test_threads_change_nothing(data):
    train, test = data
    one, two = (color(train, Request("balanced", 20), threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(one.colors, two.colors)
    assert collisions(test, one, threads=1) == collisions(test, two, threads=3)
    coloring = color(train, Request("random", 300))
    transposed = transpose(train)
    assert certify(train, transposed, coloring, 500, threads=1) == certify(
        train, transposed, coloring, 500, threads=2
    )


def test_npm_needs_as_few_colors_and_collides_as_rarely_as_told(npm):
    train = Reader().read(npm / "train.svm.xz", keep_names=False)
    test = Reader().read(npm / "test.svm.xz", vocabulary=train.vocabulary).rows
    transposed = transpose(train.rows, 2)
    first_fit = color(train.rows, Request("first-fit"), transposed=transposed)
    balanced = color(train.rows, transposed=transposed)
    assert first_fit.n_colors == 109 and balanced.n_colors <= 140
    assert collisions(test, first_fit).mean == pytest.approx(0.259, abs=0.001)
    authors = color(train.rows, Request("first-fit", order="degree"), transposed=transposed, threads=2)
    assert authors.n_colors == 103, "as many as the authors' own program"
    assert collisions(test, authors).mean == pytest.approx(0.2614, abs=0.00005)
    assert collisions(test, balanced).mean <= 0.07
    assert collisions(train.rows, balanced).dropped == 0
    drawn = color(train.rows, Request("random", 256), transposed=transposed)
    assert collisions(test, drawn).mean < certify(train.rows, transposed, drawn).expected < 0.045


def test_rows_heavier_than_the_palette_do_not_break_it(debian_survival):
    rows = Reader().read(debian_survival / "train.svm.xz").rows
    coloring = color(rows, Request(palette=128))
    assert (coloring.n_colors, coloring.lower_bound) == (128, 3373)
    assert coloring.forced > 0 and coloring.conflicts > 0
