"""Which columns of a table are categories and which are numbers: told by all rows, kept, and said."""

import datetime as dt
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic import ChromaticEncoder, FrequencyEncoder, HashingEncoder, load
from chromatic.data import Reader, look
from chromatic.data.beside import Beside
from chromatic.data.cached import parse
from chromatic.data.look import Look, exact_sum
from chromatic.errors import InputError, InputWarning

pytestmark = pytest.mark.filterwarnings("ignore::chromatic.errors.InputWarning")
RANDOM = np.random.default_rng(0)
N = 400
IDS = RANDOM.integers(0, 30, N) * 1009 + 7
TABLE = pd.DataFrame(
    {
        "RESOURCE": IDS,
        "price": RANDOM.permutation(N) + 0.5,
        "cents": RANDOM.permutation(100 * N)[:N],
        "below": RANDOM.integers(-5, 6, N),
        "mostly0": np.where(RANDOM.random(N) < 0.6, 0, RANDOM.permutation(100 * N)[:N]),
        "unknown": RANDOM.integers(-1, 6, N),
        "paid": RANDOM.random(N) < 0.5,
        "city": RANDOM.choice(["Rome", "Oslo"], N),
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(RANDOM.integers(0, 9, N), "D"),
    }
)
CATEGORIES, NUMBERS = ["RESOURCE", "unknown", "paid", "city"], ["price", "cents", "below", "mostly0", "day"]


def written(folder, table, name):
    path = folder / name
    if name.endswith("csv"):
        table.to_csv(path, index=False)
    elif name.endswith("parquet"):
        pq.write_table(pa.Table.from_pandas(table, preserve_index=False), path, row_group_size=37)
    else:
        pa.feather.write_feather(table, str(path))
    return path


def features(data, reader=None):
    """Return the schema, and the features and the numbers of each row."""
    batches = (reader or Reader()).batches(data)
    rows = []
    for batch in batches:
        names = [] if batch.tokens is None else batch.tokens.names.tolist()
        for i in range(batch.n_rows):
            here = batch.ids[batch.indptr[i] : batch.indptr[i + 1]]
            rows.append(
                ({names[j] for j in here}, [] if batch.numeric is None else batch.numeric[i].tolist())
            )
    return batches[0].schema, rows


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "x.csv", "x.parquet", "x.arrow"])
def test_columns_are_the_same_whatever_a_table_comes_as(tmp_path, kind, monkeypatch):
    libraries = {"pandas": lambda t: t, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}
    expected = features(TABLE)
    schema = expected[0]
    assert [column.name for column in schema.categories] == CATEGORIES
    assert [column.name for column in schema.numbers] == NUMBERS
    data = libraries[kind](TABLE) if kind in libraries else written(tmp_path, TABLE, kind)
    assert features(data) == expected
    monkeypatch.setattr("chromatic.data.tables.ROWS_PER_BATCH", 7)
    assert features(data) == expected
    if kind.startswith("x."):
        halves = [
            written(tmp_path, TABLE[s], f"{i}{kind}") for i, s in enumerate((slice(150), slice(150, N)))
        ]
        assert features(halves) == expected
        assert parse(Reader(), [str(data)], tmp_path / "cache").schema == schema
        assert parse(Reader(), [str(data)], tmp_path / "cache").schema == schema, "from the cache"


def test_missing_integers_are_floats_of_the_same_features():
    table = TABLE.copy()
    table.loc[3, "RESOURCE"] = np.nan
    _, whole = features(TABLE[["RESOURCE"]])
    _, floats = features(table[["RESOURCE"]])
    assert floats[3] == (set(), []) and floats[:3] + floats[4:] == whole[:3] + whole[4:]
    assert all(b"." not in name for row, _ in floats for name in row)


def test_whole_numbers_whose_values_repeat_are_categories_and_it_is_said():
    with pytest.warns(InputWarning) as told:
        Reader().batches(TABLE)
    [line] = [str(one.message) for one in told]
    assert line.startswith(
        "categories: RESOURCE*, unknown*, paid, city; numbers: price, cents*, below*, mostly0*, day;"
    )
    assert "`categorical`" in line and "\n" not in line
    for clear in (TABLE[["price", "paid", "city", "day"]], pd.DataFrame({"c": pd.Categorical([1, 1, 2])})):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Reader().batches(clear)
            Reader(categorical=["RESOURCE"]).batches(TABLE)


@pytest.mark.parametrize(
    "categorical",
    [["cents", "city"], ("city", 2), [2, -2], np.arange(9) == 2, [name == "cents" for name in TABLE]],
)
def test_one_may_say_which_columns_are_categories(categorical):
    schema, _ = features(TABLE, Reader(categorical=categorical))
    assert [column.name for column in schema.categories] == ["cents", "city"], "text is one in any case"


@pytest.mark.parametrize(
    ("categorical", "message"),
    [
        (
            ["town"],
            "categorical has 'town', which is no column of the table; its columns are RESOURCE, price",
        ),
        ([9], "categorical has 9, which is no column"),
        ([True, False], "categorical marks 2 columns and the table has 9; expected a mark for each"),
        (["tags"], "categorical has 'tags', which is no column"),
    ],
)
def test_columns_that_are_not_there_are_told(categorical, message):
    with pytest.raises(InputError, match=message):
        Reader(categorical=categorical).batches(TABLE)
    with pytest.raises(
        InputError, match="which has lists of features; expected columns of text or numbers"
    ):
        Reader(categorical=["tags"]).batches(pa.table({"tags": [["a"]]}))
    with pytest.raises(InputError, match=r"categorical is 0\.5; expected auto, a list of columns"):
        ChromaticEncoder(categorical=0.5).fit(TABLE, IDS % 2)


@pytest.mark.parametrize("kind", [ChromaticEncoder, FrequencyEncoder, HashingEncoder])
def test_other_rows_are_read_as_those_of_the_fit_whatever_their_types(kind, tmp_path):
    y = IDS % 2
    table = TABLE[["RESOURCE", "cents", "city", "day"]]
    encoder = kind(32).fit(table, y)
    wanted = encoder.transform(table[:50])
    some = table[:50]
    as_floats, as_text = some.astype({"RESOURCE": float}), some.astype({"RESOURCE": str, "cents": str})
    as_categories = some.astype({"RESOURCE": "category", "city": "category"})
    of_floats = as_floats.assign(RESOURCE=[f"{value}" for value in as_floats["RESOURCE"]])
    others = [
        as_floats,
        as_text,
        as_categories,
        of_floats,
        pl.from_pandas(some),
        some.assign(day=some["day"].astype(str)),
    ]
    others += [written(tmp_path, some, name) for name in ("x.csv", "x.parquet")]
    for other in others:
        assert (encoder.transform(other) != wanted).nnz == 0
    if kind is ChromaticEncoder:
        encoder.save(tmp_path / "m.chroma")
        loaded = load(tmp_path / "m.chroma")
        assert loaded.encoding_.vocabulary.schema == encoder.encoding_.vocabulary.schema
        assert all((loaded.transform(other) != wanted).nnz == 0 for other in others)
        with pytest.raises(
            InputError, match=r"the column 'cents' is of type .*, and not all of it can be read as num"
        ):
            encoder.transform(some.assign(cents="many"))
        with pytest.raises(InputError, match=r"the column 'day' .* expected dates"):
            encoder.transform(some.assign(day=3))


MOMENTS = [dt.datetime(2020, 1, 31, 12), None, dt.datetime(1969, 12, 31)]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_dates_are_days_in_every_library_and_unit(unit, tmp_path):
    naive = pa.table({"day": pa.array(MOMENTS, pa.timestamp(unit))})
    aware = pd.DataFrame(
        {"day": pd.to_datetime(pd.Series(MOMENTS)).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")}
    )
    (tmp_path / "x.csv").write_text("day,more\n2020-01-31 12:00:00,x\n,x\n1969-12-31 00:00:00,x\n")
    middle = (18292.5 - 1) / 2
    for data in (naive, naive.to_pandas(), pl.from_arrow(naive), aware, tmp_path / "x.csv"):
        schema, rows = features(data)
        assert schema.numeric_names == (b"day", b"day is missing")
        assert [numbers for _, numbers in rows] == [[18292.5, 0], [middle, 1], [-1, 0]]
    _, named = features(naive, Reader(categorical=["day"]))
    assert [row for row, _ in named] == [{b"day=2020-01-31T12:00:00"}, set(), {b"day=1969-12-31"}]
    dates = pa.table({"day": pa.array([dt.date(2020, 1, 31)], pa.date32())})
    assert (
        features(dates)[1] == features(dates.cast(pa.schema({"day": pa.date64()})))[1] == [(set(), [18292])]
    )


def test_missing_numbers_become_the_mean_and_have_a_column():
    train = pd.DataFrame({"price": [0.5, np.nan, 2.5], "weight": [0.5, 1.5, 0.25]})
    encoder = FrequencyEncoder(8).fit(train)
    assert encoder.get_feature_names_out().tolist() == ["price", "price is missing", "weight"]
    assert encoder.transform(train).toarray().tolist() == [[0.5, 0, 0.5], [1.5, 1, 1.5], [2.5, 0, 0.25]]
    other = pd.DataFrame({"price": [np.nan], "weight": [np.nan]})
    assert encoder.transform(other).toarray().tolist() == [[1.5, 1, 0.75]]


def test_text_after_many_numbers_makes_a_csv_column_text(tmp_path):
    lines = [f"{i % 9},{i % 2}\n" for i in range(1_100_000)] + ["none,1\n"]
    (tmp_path / "x.csv").write_text("id,label\n" + "".join(lines) + "3.5,1\n" * 9)
    [column] = Reader().batches(tmp_path / "x.csv")[0].schema.columns
    assert (column.name, column.kind) == ("id", "category")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30))
def test_sums_are_exact(values):
    assert exact_sum(np.array(values, np.float64)) == sum(map(Fraction, values))


def test_columns_of_very_many_values_are_told_by_some_of_them(monkeypatch):
    """The same ones in whatever order and pieces the rows come."""
    monkeypatch.setattr(look, "MOST_VALUES", 64)
    random = np.random.default_rng(1)
    for times, kind in ((1, "number"), (2, "number"), (3, "whole"), (9, "whole")):
        values = np.repeat(random.integers(0, 1 << 60, 3000), times)
        kinds = set()
        for size in (1000, 7000):
            shuffled, over = random.permutation(values), Look()
            for start in range(0, len(values), size):
                over.add(pa.table({"id": shuffled[start : start + size]}), Beside())
            kinds |= {column.kind for column in over.schema().columns}
        assert kinds == {kind}


def test_amounts_that_are_taken_as_categories_keep_their_order_in_ranges():
    random = np.random.default_rng(0)
    seconds = random.exponential(100, 5000).astype(int)
    ids = random.permutation(5000)[seconds]  # as often, in no order
    table = pd.DataFrame({"seconds": seconds, "ids": ids})
    schema, rows = features(table)
    of_seconds, of_ids = schema.columns
    assert (of_seconds.kind, of_ids.kind, of_ids.edges) == ("whole", "whole", ())
    assert len(of_seconds.edges) == 16 and of_seconds.edges[-1] == seconds.max()
    assert schema.field_names == (b"seconds", b"ids", b"seconds<=")
    edges = np.array(of_seconds.edges)
    for i in range(100):
        end = int(edges[edges >= seconds[i]].min())
        assert rows[i][0] == {b"seconds=%d" % seconds[i], b"ids=%d" % ids[i], b"seconds<=%d" % end}
    reader, high = Reader(schema=schema), b"seconds<=%d" % seconds.max()
    for data in ({"seconds": [10**6, None], "ids": [1, 1]}, {"seconds": ["1000000.0", "?"], "ids": [1, 1]}):
        _, (first, second) = features(pd.DataFrame(data), reader)
        assert high in first[0] and not any(name.startswith(b"seconds<=") for name in second[0])
    assert features(table, Reader(categorical=["seconds", "ids"]))[0].columns[0].edges == ()
