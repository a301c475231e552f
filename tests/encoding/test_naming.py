"""What columns are called: by field or by features, the same everywhere, and taken by every learner."""

import pickle
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic import ChromaticEncoder, FrequencyEncoder, load
from chromatic.encoding.naming import LONGEST, finished

N = 2000
RANDOM = np.random.default_rng(0)
SHOPS, ITEMS = RANDOM.integers(0, 60, N), RANDOM.integers(0, 300, N)
Y = (RANDOM.random(N) < np.where(SHOPS < 20, 0.7, 0.2)).astype(int)
TABLE = pd.DataFrame(
    {"SHOP": [f"s{shop}" for shop in SHOPS], "ITEM": [f"i{item}" for item in ITEMS], "price": ITEMS * 0.5}
)
OPTIONS = [
    {},
    {"coloring": "fields"},
    {"encoding": "target"},
    {"encoding": "frequency"},
    {"encoding": "identity"},
    {"null": "emit"},
    {"linear": 0, "collisions": "drop"},
    {"names": False},
]


def names_of(X, budget=24, **options):
    return ChromaticEncoder(budget, **options).fit(X, Y).get_feature_names_out().tolist()


def test_a_column_of_one_field_has_the_field_s_name():
    encoder = ChromaticEncoder(24, coloring="fields").fit(TABLE, Y)
    names = encoder.get_feature_names_out().tolist()
    n_own = encoder.encoding_.n_own_columns
    assert n_own and names[n_own:] == ["SHOP(linear)", "ITEM(linear)", "price"]
    for column, name in enumerate(names[:n_own]):
        told = encoder.explain(column)
        [field] = {feature.split("=")[0] for feature, _, _ in told["features"]}
        assert re.fullmatch(rf"{field}\(rate=(.*)\)", name)[1] == f"{told['rate']:.2f}"
    for encoding, holds in (("target", "target"), ("frequency", "level"), ("identity", "level")):
        names = names_of(TABLE, encoding=encoding, coloring="fields", linear=0)
        assert names == [f"SHOP({holds})", f"ITEM({holds})", "price"]


def test_fields_are_read_from_tokens_too():
    X = [[f"SHOP=s{shop}", f"ITEM=i{item}"] for shop, item in zip(SHOPS, ITEMS, strict=True)]
    names = names_of(X, max_colors=2)
    assert any(re.fullmatch(r"SHOP\(rate=0\.\d+\)", name) for name in names)
    only = names_of([[f"SHOP=s{shop}"] for shop in SHOPS])
    assert {name.split("(")[0] for name in only} == {"SHOP"}
    mixed = names_of([[f"SHOP=s{shop}" if shop % 2 else f"shop{shop}"] for shop in SHOPS])
    assert all("|" in name for name in mixed)


@pytest.mark.parametrize("integers", [False, True])
def test_other_columns_have_their_most_frequent_features_and_how_many_more(integers):
    X = [[int(shop)] if integers else [f"shop {shop}"] for shop in SHOPS]
    encoder = ChromaticEncoder(8).fit(X, Y)
    told, name = encoder.explain(0), encoder.get_feature_names_out()[0]
    first, second = (feature.replace(" ", "_") for feature, _, _ in told["features"][:2])
    assert name == f"{first}|{second}|+{len(told['features']) - 2}(rate={told['rate']:.2f})"
    assert encoder.get_feature_names_out()[-1].endswith("|+58(linear)")


def test_a_column_of_one_or_two_features_is_called_by_all_of_them():
    X = [["common"] if shop < 6 else ["a" if shop < 9 else "b"] for shop in SHOPS]
    names = names_of(X, dense_threshold=2.0, linear=0, min_gain=0.0)
    assert sorted(re.sub(r"\(.*", "", name) for name in names) in (
        ["a", "b"],
        ["a", "common"],
        ["b", "common"],
    )
    assert names_of(X, dense_threshold=2.0, encoding="target", linear=1)[-1] == "b|common|+1(linear)"


def test_a_column_for_absence_says_so():
    X = [[f"SHOP=s{shop}"] if shop % 3 else [] for shop in SHOPS]
    names = names_of(X, 2, null="emit", linear=0, max_colors=1)
    assert sum(name.startswith("SHOP|none(rate=") for name in names) == 1
    X = [[f"SHOP=s{shop}"] if shop < 20 else [] for shop in SHOPS]
    assert "none_of_SHOP(rate=0.22)" in names_of(X, null="emit", linear=0, smoothing=0)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", ["table", "tokens", "odd"])
def test_names_are_unique_the_same_after_loading_and_fit_for_frames(options, kind, tmp_path):
    odd = [
        '"',
        ",",
        ":",
        "[x]",
        "{y}",
        "<",
        "\\",
        "\x1b[31m",
        "\u202e",
        "\n",
        " ",
        "é",
        "\udc80"[:0] + "汉字",
        "x" * 999,
    ]
    X = {
        "table": TABLE,
        "tokens": [[f"u{shop}", f"v{item}"] for shop, item in zip(SHOPS, ITEMS, strict=True)],
        "odd": [
            [f"{odd[shop % 14]}{shop}", f"{odd[item % 14]}={item}", "d,:"]
            for shop, item in zip(SHOPS, ITEMS, strict=True)
        ],
    }[kind]
    if kind != "table" and "coloring" in options:
        options = {}
    encoder = ChromaticEncoder(24, **options).fit(X, Y)
    names = encoder.get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == encoder.n_columns_
    for name in names:
        assert name.isprintable() and len(name) <= LONGEST + 4 and not set(name) & set('",:[]{}<\\')
    encoder.save(tmp_path / "m.chroma")
    for again in (load(tmp_path / "m.chroma"), pickle.loads(pickle.dumps(encoder))):
        assert again.get_feature_names_out().tolist() == names
    frame = encoder.set_output(transform="pandas").transform(X)
    assert frame.columns.tolist() == names
    dense = pd.DataFrame({name: np.asarray(frame[name], np.float64) for name in names})
    pq.write_table(pa.Table.from_pandas(dense), tmp_path / "rows.parquet")
    assert pq.read_table(tmp_path / "rows.parquet").column_names == names
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    booster = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(dense, Y).booster_
    assert booster.feature_name() == names


def test_a_model_without_names_has_plain_ones():
    X = [[f"SHOP=s{shop}", f"ITEM=i{item}"] for shop, item in zip(SHOPS, ITEMS, strict=True)]
    for name in names_of(X, names=False):
        assert re.fullmatch(r"color\d+_bin\d+|linear\d+", name)
    assert names_of(X, names=False, encoding="target", max_colors=2, linear=0) == ["color0", "color1"]


def test_columns_of_a_matrix_go_by_their_numbers_or_by_given_names():
    X = np.eye(60)[SHOPS]
    encoder = ChromaticEncoder(8, linear=1).fit(X, Y)
    first = int(encoder.explain(0)["features"][0][0])
    assert encoder.get_feature_names_out()[0].startswith(f"x{first}|")
    given_names = [f"shop [{i}]" for i in range(60)]
    assert encoder.get_feature_names_out(given_names)[0].startswith(f"shop__{first}_|")


def test_the_names_of_truncation_are_safe_too():
    names = FrequencyEncoder(3).fit([["a:b", "a,b"], ["a:b"], ["c"]]).get_feature_names_out().tolist()
    assert names == ["a_b", "c", "a_b#2"]


@given(st.lists(st.text(max_size=4) | st.sampled_from(["a", "a#2", "a#3", "a" * 99, "b" * 98 + ","])))
def test_finished_names_differ_and_stay_in_order(given_names):
    names = finished(given_names)
    assert len(names) == len(set(names)) == len(given_names)
    assert all(name.startswith(finished([one])[0]) for one, name in zip(given_names, names, strict=True))
