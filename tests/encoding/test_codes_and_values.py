"""The encodings with one value a color: frequency, identity and target."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.data import Reader
from chromatic.errors import InputError
from chromatic.fitting import LocalSource, fit
from chromatic.fitting.labels import as_numbers
from chromatic.parameters import Settings

pytestmark = pytest.mark.kernels

lists = st.lists(st.lists(st.integers(0, 15), max_size=6), min_size=2, max_size=25)


def read(rows):
    data = Reader().read(rows, dense_threshold=2)
    return data, [set(p.tolist()) for p in np.split(data.rows.codes, data.rows.indptr[1:-1])]


@given(lists, st.integers(1, 20), st.sampled_from([1, 2, 1000]), st.booleans())
def test_levels_are_places_among_the_kept_features_of_a_color(lists, budget, palette, truncated):
    data, sets = read(lists)
    encoding = "frequency" if truncated else "identity"
    fitted = fit(LocalSource(data, None), Settings(budget, encoding, max_colors=palette))
    colors = fitted.encoding.coloring.colors.tolist()
    n_kept = min(budget, len(colors)) if truncated else len(colors)
    of_color = {k: [v for v in range(n_kept) if colors[v] == k] for k in set(colors)}
    expected = np.zeros((len(sets), fitted.encoding.coloring.n_colors), int)
    for i, row in enumerate(sets):
        for v in sorted(v for v in row if v < n_kept):  # the rarer one wins
            expected[i, colors[v]] = of_color[colors[v]].index(v) + 1
    assert fitted.training.to_csr().toarray().tolist() == expected.tolist()
    dims = fitted.encoding.field_dims
    assert dims.tolist() == [len(of_color.get(k, [])) + 1 for k in range(len(dims))]
    assert (expected < dims).all() if len(dims) else not expected.size


@given(lists, st.data(), st.sampled_from([0.0, 0.5, 3.0]), st.booleans())
def test_target_values_are_smoothed_against_null_and_plain_means_without_smoothing(
    lists, draws, smoothing, binary
):
    values = st.sampled_from([0.0, 1.0] if binary else [0.0, 1.0, 2.5, -4.0])
    labels = np.array(draws.draw(st.lists(values, min_size=len(lists), max_size=len(lists))))
    data, sets = read(lists)
    target_type = "numbers" if len(set(labels)) > 2 else "auto"  # whole numbers may be classes
    settings = Settings(
        1000, "target", leakage="none", smoothing=smoothing, linear=0, target_type=target_type
    )
    if len(set(labels)) < 2:
        with pytest.raises(InputError, match="there is only one class"):
            fit(LocalSource(data, labels), settings)
        return
    fitted = fit(LocalSource(data, labels), settings)
    labels = as_numbers(labels)  # two kinds are 0 and 1
    colors = fitted.encoding.coloring.colors.tolist()

    def level(which):
        count = sum(which)
        if count == 0 or count + smoothing == 0:
            mean = labels.mean()
        else:
            mean = (labels[which].sum() + smoothing * labels.mean()) / (count + smoothing)
        return np.log(mean / (1 - mean)) if set(labels) == {0, 1} and smoothing else mean

    expected = np.zeros((len(sets), fitted.encoding.coloring.n_colors))
    for i, row in enumerate(sets):
        for v in row:
            null = np.array([not any(colors[u] == colors[v] for u in other) for other in sets])
            having = np.array([v in other for other in sets])
            expected[i, colors[v]] = level(having) - (level(null) if smoothing else 0.0)
    np.testing.assert_allclose(fitted.training.to_csr().toarray(), expected, atol=1e-12)


def test_target_values_out_of_fold_do_not_know_their_own_label():
    rare = Reader().read([[f"r{i}"] for i in range(500)])
    coin = (np.random.default_rng(0).random(500) < 0.5).astype(float)
    values = fit(LocalSource(rare, coin), Settings(8, "target", smoothing=1.0)).training.to_csr().toarray()
    assert np.ptp(values) < 1e-12, "no feature was seen outside its own fold"


def test_numeric_labels_are_smoothed_by_the_ratio_of_variances_as_in_scikit_learn():
    from sklearn.preprocessing import TargetEncoder

    random = np.random.default_rng(0)
    values = random.integers(0, 30, 600)
    y = random.normal(size=30)[values] + random.normal(size=600)
    rows = [[f"v{v}"] for v in values]
    fitted = fit(
        LocalSource(Reader().read(rows, dense_threshold=2), y),
        Settings(8, "target", leakage="none", linear=0),
    )
    ours = fitted.training.to_csr().toarray().ravel()
    theirs = TargetEncoder(target_type="continuous", smooth="auto").fit(values[:, None], y)
    expected = theirs.transform(values[:, None]).ravel() - y.mean()  # null never occurs: the prior
    np.testing.assert_allclose(ours, expected, rtol=1e-9)


def test_labels_are_asked_for_where_they_are_needed():
    data, _ = read([[1, 2], [1], [2]])
    for encoding in ("submodular", "target"):
        with pytest.raises(InputError, match=f"the {encoding} encoding requires y to be passed"):
            fit(LocalSource(data, None), Settings(8, encoding))
    with pytest.raises(InputError, match="3 rows and labels of shape"):
        fit(LocalSource(data, np.zeros(2)), Settings(8))
    with pytest.raises(InputError, match="y is NaN or infinite in 1 of 3 rows"):
        fit(LocalSource(data, np.array([0, 1, np.nan])), Settings(8))
    for encoding in ("submodular", "target"):
        with pytest.raises(InputError, match="0 to 2, in 3 rows; expected target_type='classes' where"):
            fit(LocalSource(data, np.array([0, 1, 2])), Settings(8, encoding))
