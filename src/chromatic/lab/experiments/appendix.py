"""What the figures of the paper's appendix have in common: one study of the graph for every k."""

from __future__ import annotations

from chromatic.graph.study import Series, study
from chromatic.lab.experiments.data import Data
from chromatic.lab.experiments.frame import Found, Line
from chromatic.lab.experiments.paper import PLOTTED
from chromatic.lab.experiments.results import Record, Store

NAME = "graph-study"  # one file of results for all of these figures
MAX_K = 64
SHOWN = [2**i for i in range(7)]  # of all k, in tables


def studied(data: Data, store: Store) -> list[Record]:
    """The study, a record for each k; those of the graph without held-out features begin with `left_`."""

    def compute() -> list[Record]:
        train, test = data.coded()
        found = study(train.rows, MAX_K, test=test, threads=data.threads)
        return [
            {"name": data.name}
            | {name: values[i] for name, values in found.per_k.items()}
            | {f"left_{name}": values[i] for name, values in found.filtered.items() if name != "k"}
            for i in range(MAX_K)
        ]

    return store.get(NAME, {"data": data.fingerprint, "max_k": MAX_K}, compute)


def series(found: Found, prefix: str = "") -> Series:
    """The figures of a study over k."""
    names = [name.removeprefix(prefix) for name in found.records[0] if name.startswith(prefix)]
    return {"k": [record["k"] for record in found.records]} | {
        name: [record[prefix + name] for record in found.records] for name in names
    }


def lines_over_k(found: Found, figures: dict[str, str]) -> list[Line]:
    """Some figures for some k; the paper only plots."""
    return [
        {"figure": told, "k": record["k"], "paper": PLOTTED, "ours": record[figure]}
        for figure, told in figures.items()
        for record in found.records
        if record["k"] in SHOWN
    ]
