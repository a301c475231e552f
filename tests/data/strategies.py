"""Odd text of every format."""

from hypothesis import strategies as st

LABELS = [
    "1",
    "0",
    "-1",
    "+1",
    "1.5",
    "1e3",
    "-.5",
    "7.",
    "x",
    "nan",
    "1e999",
    "1:1",
    "0.1234567890123456789",
]
INTEGERS = ["0", "1", "2", "3", "17", "1234567", "12345678", "123456789", "4294967295"]
NAMES = ["007", "+7", "4294967296", "99999999999", "a", "b", "a:b", "qid", "qid:3", "c#", "#c", "é", ":"]
VALUES = ["", "", "", ":1", ":1", ":0", ":2.5", ":-3", ":x", ":", ":1:1", ":+1", ":1.0", ":.5e1", ":0x1"]
VALUES += [":1e-400", ":1e400", ":2e-324", ":5e-324", ":1.7976931348623157e308", ":0.1234567890123456789"]
VALUES += [":1.00000000000000000000000", ":1e23", ":9007199254740993", ":123456789012345678901234567890"]
SPACES = [" ", " ", " ", "  ", "\t", "\r", "\x0b", "\x00"]
ENDS = ["\n", "\n", "\r\n", "\n\n", " # a 1:1\n", "#x\n"]


def lines(names):
    word = st.tuples(st.sampled_from(names), st.sampled_from(VALUES)).map("".join)
    row = st.tuples(
        st.sampled_from(["", "", " "]),
        st.sampled_from(LABELS[:8] * 3 + LABELS[8:]),
        st.lists(st.tuples(st.sampled_from(SPACES), word).map("".join), max_size=30).map("".join),
        st.sampled_from(ENDS),
    ).map("".join)
    return st.tuples(st.lists(row, max_size=12).map("".join), st.sampled_from(["", "1 1:1", "#"])).map(
        lambda parts: "".join(parts).encode()
    )


def vw_lines():
    space = st.sampled_from(["|", "|", "| ", "|user ", "|user:2 ", "|u:x ", "|" + "n" * 255 + " ", "|a|"])
    word = st.tuples(st.sampled_from(INTEGERS + NAMES + ["a|b"]), st.sampled_from(VALUES), st.just(" "))
    section = st.tuples(space, st.lists(word.map("".join), max_size=6).map("".join)).map("".join)
    heads = [
        "1 ",
        "-1 2.0 ",
        "1 0.12345678901234567890 ",
        "1 1e23 y ",
        "1 'tag",
        "0 1 0.5 t",
        "",
        "1",
        "1 2 3 4 ",
        "x ",
        "1 'a b",
    ]
    head = st.sampled_from(heads)
    row = st.tuples(
        head, st.lists(section, max_size=3).map("".join), st.sampled_from(["\n", "\r\n", " \n\n"])
    )
    return st.lists(row.map("".join), max_size=8).map(lambda rows: "".join(rows).encode())


def raw():
    return st.binary(max_size=80) | st.text("01 :|#\n.e-q", max_size=80).map(str.encode)


def svmlight():
    return lines(INTEGERS) | lines(INTEGERS + NAMES) | raw()


def tokens():
    return lines(INTEGERS + NAMES) | raw()


def vw():
    return vw_lines() | raw()
