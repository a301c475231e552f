"""A report of a model of several classes: each against the others, and what is taken for what."""

import numpy as np
import pytest
from reports import HOSTILE, coded, fitted

from chromatic.data import Reader
from chromatic.fitting import LocalSource, fit
from chromatic.model import Model
from chromatic.parameters import Settings
from chromatic.report.classes import ByClass, by_class, classes
from chromatic.report.contents import embedded
from chromatic.report.linear import linear
from chromatic.report.observed import observe
from chromatic.report.page import report
from chromatic.report.subject import Subject


def rows_of_classes(n_rows, seed=0):
    """Rows of tokens of which some speak for one of three classes."""
    random = np.random.default_rng(seed)
    kinds = random.integers(0, 3, n_rows)
    rows = [
        [*{f"k{kind}.{i}" for i in random.integers(0, 4, 2)}, *{f"t{i}" for i in random.integers(0, 30, 3)}]
        if random.random() < 0.7
        else [f"t{i}" for i in set(random.integers(0, 30, 4).tolist())]
        for kind in kinds
    ]
    return rows, kinds


@pytest.fixture(scope="module", params=["submodular", "target"])
def subject(request):
    rows, kinds = rows_of_classes(2000)
    model = fitted(rows, kinds, budget=96, encoding=request.param, target_type="classes")
    test = coded(model, *rows_of_classes(800, seed=1))
    return Subject("model", model, observe(model.encoding, test))


def test_classes_are_shown_with_their_shares_and_what_speaks_for_them(subject):
    told = classes(subject)
    _, kinds = rows_of_classes(2000)
    for number, one in enumerate(told.classes):
        assert one.label == str(number) and all(name.startswith(f"k{number}.") for name in one.raising[:3])
        assert one.prior == pytest.approx((kinds == number).mean())
        assert one.in_test == pytest.approx((subject.observed.labels == number).mean())
    assert classes(Subject("model", subject.model, None)).confusions is None


def test_the_likeliest_class_by_the_linear_columns_is_what_a_row_is_taken_for(subject):
    told, rows = classes(subject).confusions, subject.observed.resolved
    margins = []
    for one in subject.parts:
        encoded, own = one.encoding.encode(rows).to_csr(), one.encoding.n_own_columns
        sums = encoded[:, own : one.encoding.n_sparse_columns].sum(axis=1)
        margins.append(sums + rows.dense @ one.encoding.linear.of_dense + one.encoding.linear.intercept)
    taken = np.argmax(margins, axis=0)
    assert told.accuracy == pytest.approx((taken == subject.observed.labels).mean()) and told.accuracy > 0.6
    for number, row in enumerate(told.table):
        of_class = taken[subject.observed.labels == number]
        assert row.rows == len(of_class)
        assert row.shares == pytest.approx([(of_class == one).mean() for one in range(3)])


def test_columns_and_features_are_told_by_class(subject):
    data, encoding = embedded(subject), subject.encoding
    assert [part["label"] for part in data["parts"]] == ["0", "1", "2"]
    place = data["features"]["name"].index("k1.0")
    rates = [part["measure"][place] for part in data["parts"]]
    assert rates[1] == max(rates)
    for label, _, _ in encoding.of_classes():
        of_part = [
            name
            for name, at in zip(*map(data["columns"].get, ("name", "part")), strict=True)
            if at == int(label)
        ]
        assert of_part and all(name.startswith(f"{label}/") for name in of_part)
    sections = by_class(subject, linear)
    assert isinstance(sections, ByClass) and [label for label, _ in sections.parts] == ["0", "1", "2"]
    first_linear = [content.columns[0].number for _, content in sections.parts]
    assert first_linear == [part["first_linear"] for part in data["parts"]]


def test_the_page_shows_any_class_as_text_and_opens(chromium, tmp_path):
    rows, kinds = rows_of_classes(1000)
    data = Reader().read(rows, dense_threshold=0.5)
    made = fit(LocalSource(data, np.array([HOSTILE, "thai", "welsh"])[kinds]), Settings(48))
    path = tmp_path / "page.html"
    path.write_text(report(Model(made.encoding, {}, classes=made.class_labels)), encoding="utf-8")
    chromium.open(path.as_uri() + "#feature=k1.0")
    assert chromium.errors == [] and chromium.requests == [path.as_uri()]
    assert chromium.run("document.title") != "caught"
    first = "document.querySelector('#result tbody tr').innerText"
    assert chromium.run(first).startswith("thai")
    chromium.run("document.getElementById('class').value = '2'")
    chromium.run("document.getElementById('class').dispatchEvent(new Event('change'))")
    shown = chromium.run(
        "[...document.querySelectorAll('#columns-list .class')].map((one) => one.innerText).join()"
    )
    assert set(shown.split(",")) == {"welsh"}
    linear_column = chromium.run("document.querySelector('#linear .linear').dataset.column")
    chromium.open(path.as_uri() + f"#column={linear_column}")
    assert chromium.run("document.querySelector('#linear details.plain').open")
