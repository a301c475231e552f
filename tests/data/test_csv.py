"""CSV in all its forms: what has no header, other delimiters, and what only looks like tokens."""

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from chromatic.data import Reader
from chromatic.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::chromatic.errors.InputWarning")


def test_a_table_between_tabs_is_never_taken_for_tokens(tmp_path):
    path = tmp_path / "day_0"
    for text in ("1\tRome\t3\n0\t\t4\n", "1\t5\t7\n"):
        path.write_text(text)
        with pytest.raises(
            InputError, match=r"day_0: each line has 3 columns between tabs.*; expected a format"
        ):
            Reader().batches(path)
    path.write_text("1\tRome\t3.5\n0\t\t4\n")
    [batch] = Reader(format="tsv", header=False, label="x0").batches(path)
    assert (batch.field_names, batch.numeric_names) == ((b"x1",), (b"x2",))
    for text in ("1\tRome Oslo\n", "1\ta\tb\n0\ta\n", "1\t3:1\t5:1\n"):
        path.write_text(text)
        assert Reader().batches(path)[0].field_names == ()


def test_a_first_line_that_is_a_row_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("1,Rome,2.5\n0,Oslo,3.5\n")
    with pytest.raises(
        InputError, match=r"x.csv: the first line has the number 1 where the name .* --no-header"
    ):
        Reader().batches(path)
    [batch] = Reader(header=False, label="x0").batches(path)
    assert batch.n_rows == 2 and batch.labels.tolist() == [1, 0]
    assert Reader(header=True).batches(path)[0].n_rows == 1
    path.write_text("0,1\n1.5,Rome\n")
    assert Reader().batches(path)[0].n_rows == 1, "as pandas calls columns without names"


def test_columns_may_lie_between_anything(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("label;city;price\n1;Rome;2.5\n")
    with pytest.raises(
        InputError, match=r"x.csv: the first line is one column, 'label;city;price'.* --delimiter ';'"
    ):
        Reader().batches(path)
    with pytest.raises(InputError, match="the delimiter is ';;'; expected one character"):
        Reader(delimiter=";;").batches(path)
    expected = Reader(delimiter=";").batches(path)[0].tokens.names.tolist()
    assert expected == [b"city=Rome"]
    other = tmp_path / "rows"
    other.write_text(path.read_text().replace(";", "\t"))
    for delimiter in ("tab", "\\t", "\t"):
        assert Reader(delimiter=delimiter).batches(other)[0].tokens.names.tolist() == expected


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_two_columns_of_one_name_are_refused(tmp_path, format):
    table = pa.table([["a", "b"], ["c", "d"], [0, 1]], names=["shop", "shop", "label"])
    path = str(tmp_path / f"rows.{format}")
    if format == "csv":
        pa.csv.write_csv(table, path)
    elif format == "parquet":
        pa.parquet.write_table(table, path)
    else:
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(
        InputError, match=f"rows.{format}: two columns are called 'shop'; expected different"
    ):
        Reader().read(path)
