"""The paper's table of data sets: rows, features, features of a row."""

from __future__ import annotations

from chromatic.lab.experiments.data import Data
from chromatic.lab.experiments.frame import Experiment, Findings, Line
from chromatic.lab.experiments.paper import SPARSE_SETS, figures_of
from chromatic.learn.results import Record, Results

FIGURES = {
    "rows": "rows to train on",
    "test_rows": "rows to test on",
    "dense_features": "dense features",
    "sparse_features": "sparse features",
    "avg_nnz": "sparse features of a row, average",
    "max_nnz": "sparse features of a row, most",
}


def run(data: Data, results: Results) -> list[Record]:
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

    return results.get({"data": data.fingerprint}, compute)


def lines(findings: Findings) -> list[Line]:
    """Each figure beside the paper's."""
    paper, [record] = figures_of(findings.paper), findings.records
    return [
        {"figure": told, "paper": getattr(paper, figure, None), "ours": record[figure]}
        for figure, told in FIGURES.items()
    ]


EXPERIMENT = Experiment(
    name="table-datasets",
    what="The data sets: rows and features",
    where="Table 2",
    sets=SPARSE_SETS,
    run=run,
    lines=lines,
)
