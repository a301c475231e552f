"""The page of `chromatic drift`."""

import numpy as np
import pytest
from reports import HOSTILE

from chromatic import ChromaticEncoder
from chromatic.report.drift import page


def rows(n, seed):
    random = np.random.default_rng(seed)
    a, b = random.integers(0, 20, n), random.integers(0, 60, n)
    return [[f"a{i}{HOSTILE}", f"b{j}"] for i, j in zip(a, b, strict=True)], (a % 4 == 0).astype(int)


@pytest.fixture(scope="module")
def encoder():
    return ChromaticEncoder(budget=16, dense_threshold=0.9).fit(*rows(2000, 0))


def test_names_cannot_leave_the_page_and_nothing_is_loaded(encoder):
    X, y = rows(1000, 1)
    found = encoder.drift([row for row in X if row[0] < "a3"], y[[row[0] < "a3" for row in X]])
    assert found.moved
    html = page(found, name=HOSTILE)
    assert "<script" not in html and "<img" not in html and "http" not in html.replace("http-equiv", "")
    assert "&lt;/script&gt;" in html and "nan" not in html.lower().split("<body>")[1]


def test_a_page_says_what_it_cannot_show(encoder):
    html = page(encoder.drift(rows(500, 2)[0]))
    assert "no labels" in html and "The features of no column come more or less often" in html


def test_numbers_and_classes_have_pages(encoder):
    X, y = rows(2000, 3)
    three = np.array(["no", "yes", "maybe"])[np.where(np.arange(len(y)) % 5 == 0, 2, y)]
    for labels, plots in ((y * 9.5 + np.arange(len(y)) % 7, 4), (three, 6)):
        fitted = ChromaticEncoder(budget=16, dense_threshold=0.9).fit(X, labels)
        assert page(fitted.drift(X, labels)).count('class="plot') == plots
