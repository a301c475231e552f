"""The paper's table of graphs: pairs, degrees, colors and collisions."""

from __future__ import annotations

from chromatic.coloring import Request, collisions, color, transpose
from chromatic.graph.pairs import count
from chromatic.lab.experiments.data import Data
from chromatic.lab.experiments.frame import Experiment, Findings, Line
from chromatic.lab.experiments.paper import PAIRS_NEVER_SEEN, SPARSE_SETS, figures_of
from chromatic.learn.results import Record, Results

FIGURES = {  # ours: what it is, and the paper's twin
    "pairs_per_row": ("pairs of features of a row", "pairs_per_row"),
    "sparse_features": ("features", "sparse_features"),
    "avg_degree": ("average degree", "avg_degree"),
    "colors": ("colors, first-fit by degree", "colors"),
    "collisions": ("collisions of a test row, first-fit by degree", "collisions"),
    "colors_balanced": ("colors, balanced", "colors"),
    "collisions_balanced": ("collisions of a test row, balanced", "collisions"),
    "avg_nnz": ("features of a row, average", "avg_nnz"),
}


def run(data: Data, results: Results) -> list[Record]:
    """Count the graph's edges, and color its features as the paper does and as we do."""

    def compute() -> list[Record]:
        train, test = data.coded()
        rows, threads = train.rows, data.threads
        transposed = transpose(rows, threads)
        edges = count(rows, 1, transposed=transposed, threads=threads).n_edges
        first_fit, balanced = (
            color(rows, request, transposed=transposed, threads=threads)
            for request in (Request("first-fit", order="degree"), Request())
        )
        possible = rows.n_features * (rows.n_features - 1) // 2
        return [
            {
                "name": data.name,
                "pairs_per_row": rows.pairs_per_row,
                "sparse_features": rows.n_features,
                "edges": edges,
                "avg_degree": 2 * edges / max(1, rows.n_features),
                "colors": first_fit.n_colors,
                "collisions": collisions(test, first_fit, threads).mean,
                "colors_balanced": balanced.n_colors,
                "collisions_balanced": collisions(test, balanced, threads).mean,
                "avg_nnz": rows.average_nnz,
                "pairs_never_seen": 1 - edges / possible if possible else None,
            }
        ]

    return results.get({"data": data.fingerprint, "first_fit": "by degree"}, compute)


def lines(findings: Findings) -> list[Line]:
    """Each figure beside the paper's."""
    paper, [record] = figures_of(findings.paper), findings.records
    never = PAIRS_NEVER_SEEN.get(findings.paper or "")
    return [
        *(
            {"figure": told, "paper": getattr(paper, twin, None), "ours": record[figure]}
            for figure, (told, twin) in FIGURES.items()
        ),
        {"figure": "share of pairs never seen", "paper": never, "ours": record["pairs_never_seen"]},
    ]


EXPERIMENT = Experiment(
    name="table-graph",
    what="The graph of features that share a row",
    where="Table 1",
    sets=SPARSE_SETS,
    run=run,
    lines=lines,
)
