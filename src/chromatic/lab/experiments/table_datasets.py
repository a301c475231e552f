"""The paper's table of data sets: rows, features, features of a row."""

from __future__ import annotations

from chromatic.lab.experiments.data import Data
from chromatic.lab.experiments.frame import Experiment, Found, Line
from chromatic.lab.experiments.paper import SPARSE_SETS, figures_of
from chromatic.lab.experiments.results import Record, Store

NAME = "table-datasets"
FIGURES = {
    "rows": "rows to train on",
    "test_rows": "rows to test on",
    "dense_features": "dense features",
    "sparse_features": "sparse features",
    "avg_nnz": "sparse features of a row, average",
    "max_nnz": "sparse features of a row, most",
}


def run(data: Data, store: Store) -> list[Record]:
    """Count rows and features."""

    def compute() -> list[Record]:
        train, test = data.coded()
        return [
            {
                "name": data.name,
                "rows": train.rows.n_rows,
                "test_rows": test.n_rows,
                "dense_features": len(train.vocabulary.dense_names),
                "sparse_features": len(train.vocabulary),
                "avg_nnz": train.rows.average_nnz,
                "max_nnz": train.rows.largest_nnz,
            }
        ]

    return store.get(NAME, {"data": data.fingerprint}, compute)


def lines(found: Found) -> list[Line]:
    """Each figure beside the paper's."""
    paper, [record] = figures_of(found.paper), found.records
    return [
        {"figure": told, "paper": getattr(paper, figure, None), "ours": record[figure]}
        for figure, told in FIGURES.items()
    ]


EXPERIMENT = Experiment(NAME, "The data sets: rows and features", "Table 2", SPARSE_SETS, run, lines)
