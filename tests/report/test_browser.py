"""A report in a real browser."""

import numpy as np
import pytest
from reports import HOSTILE, coded, fitted, scored

from chromatic.report.page import report


@pytest.fixture(scope="module")
def url(names, tmp_path_factory):
    train, test = names
    model = fitted(train.rows, train.labels, budget=64, max_colors=16)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report(model, coded(model, test.rows, test.labels)), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def feature(names):
    """A feature that makes a column."""
    encoding = fitted(names[0].rows, names[0].labels, budget=64, max_colors=16).encoding
    return next(
        name
        for code in np.flatnonzero(encoding.columns >= 0)
        if (name := encoding.vocabulary.name(int(code)).decode()) != HOSTILE
    )


def text(chromium, selector):
    return chromium.run(f"document.querySelector({selector!r}).innerText")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_it_opens_without_errors_or_requests_and_fits_the_screen(chromium, url, width, dark):
    chromium.open(url, width, dark=dark)
    assert chromium.errors == [] and chromium.requests == [url]
    assert chromium.run("document.documentElement.scrollWidth") == width
    assert chromium.run("document.querySelectorAll('#columns-list details').length") > 10
    paper = chromium.run("getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in paper[4:-1].split(","))
    assert brightness < 150 if dark else brightness > 600


def test_the_search_finds_the_columns_of_a_feature(chromium, url, feature):
    chromium.open(url)
    chromium.type("search", feature)
    assert f"a feature with “{feature}”" in text(chromium, "#status")
    assert text(chromium, "#columns-list .chip.hit") == feature
    chromium.run("document.querySelector('#columns-list details').open = true")
    chromium.run("new Promise(done => setTimeout(done, 50))")
    assert feature in text(chromium, "#columns-list table")
    chromium.open(url + "#search=no such feature")
    assert text(chromium, "#status").startswith("0 columns")
    assert chromium.errors == []


def test_the_box_finds_a_feature_and_suggests_others(chromium, url):
    chromium.open(url)
    chromium.type("feature", "react")
    assert text(chromium, "#result h3") == "react" and "rows of training" in text(chromium, "#result")
    chromium.open(url + "#feature=reac")
    assert "Did you mean" in text(chromium, "#suggestions")
    chromium.run("document.querySelector('#suggestions button').click()")
    chromium.run("new Promise(done => setTimeout(done, 50))")
    assert text(chromium, "#result h3").startswith("react")
    chromium.open(url + "#feature=no such feature")
    assert "chromatic inspect" in text(chromium, "#result") or "no sparse feature" in text(
        chromium, "#result"
    )
    assert chromium.errors == []


def test_a_feature_named_like_a_script_is_only_text(chromium, url):
    for fragment in ("", "#feature=%3C%2Fscript%3E", "#search=onerror"):
        chromium.open(url + fragment)
        assert chromium.errors == [] and chromium.requests[:1] == chromium.requests
        assert chromium.run("document.title").startswith("chromatic report")
        assert chromium.run("document.images.length + document.scripts.length") == 2
    assert HOSTILE in text(chromium, "#columns-list .chip.hit")
    chromium.open(url)
    chromium.type("feature", HOSTILE)
    assert text(chromium, "#result h3") == HOSTILE and chromium.errors == []
    assert chromium.run("document.images.length") == 0


def test_a_measure_of_an_encoding_that_somebody_adds_is_shown_as_a_number(chromium, names, tmp_path):
    train, test = names
    model = scored(fitted(train.rows, train.labels, budget=64, max_colors=16))
    path = tmp_path / "report.html"
    path.write_text(report(model, coded(model, test.rows, test.labels)), encoding="utf-8")
    chromium.open(path.as_uri() + "#feature=react")
    assert "its score is +0." in text(chromium, "#result")
    assert "A column is <mine>." in text(chromium, "#columns")
    assert text(chromium, "#columns-list .measure").startswith("+")
    assert "no rates" in text(chromium, "#calibration") and chromium.errors == []


def test_the_columns_furthest_off_are_links_to_columns(chromium, url):
    chromium.open(url)
    number = chromium.run(
        "const a = document.querySelector('#calibration table a'); a.click(); a.hash.slice(8)"
    )
    chromium.run("new Promise(done => setTimeout(done, 100))")
    assert chromium.run(f"document.querySelector('details[data-column=\"{number}\"]').open") is True
    assert chromium.errors == []


def test_a_feature_has_a_link_to_its_linear_column(chromium, url):
    chromium.open(url + "#feature=react")
    assert "its weight there is" in text(chromium, "#result")
    number = chromium.run(
        "const a = [...document.querySelectorAll('#result a')].pop(); a.click(); a.hash.slice(8)"
    )
    chromium.run("new Promise(done => setTimeout(done, 100))")
    assert chromium.run(f"document.querySelector('#linear [data-column=\"{number}\"]').open") is True
    assert chromium.run("document.querySelectorAll('#linear details[open]').length") == 1
    assert chromium.errors == []
