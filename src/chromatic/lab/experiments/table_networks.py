"""The paper's table of learners: test log loss by learner and encoder."""

from __future__ import annotations

from chromatic.lab.experiments.cells import grid
from chromatic.lab.experiments.data import Data
from chromatic.lab.experiments.frame import Experiment, Findings, Line
from chromatic.lab.experiments.paper import SPARSE_SETS, network_loss
from chromatic.learn.results import Record, Results

LEARNERS = {
    "wd": "Wide & Deep",
    "lr-net": "logistic regression, a layer",
    "lr": "logistic regression, scikit-learn",
    "fm": "factorization machine",
    "nfm": "neural FM",
    "deepfm": "DeepFM",
}
BUDGET = 1024
ENCODERS = {  # ours: what it is, and the paper's twin
    "ft": ("FT", "FT"),
    "ht": ("HT", "HT"),
    "cl-sm-paper": ("CL+SM, the paper's setting", "CL+SM"),
    "cl-sm": ("CL+SM, ours", "CL+SM"),
    "cl-te-paper": ("CL+TE, the paper's setting", "CL+TE"),
    "cl-te": ("CL+TE, ours", "CL+TE"),
}
EMBEDDED = {2**18: "CL+FT@18", 2**20: "CL+FT@20"}  # for Wide & Deep


def run(data: Data, results: Results) -> list[Record]:
    """Train every learner on every encoder's columns."""
    records = grid(data, results, [(encoder, BUDGET) for encoder in ENCODERS], list(LEARNERS))
    records += grid(data, results, [("cl-ft", budget) for budget in EMBEDDED], ["wd"])
    return sorted(records, key=lambda record: list(LEARNERS).index(record["learner"]))


def lines(findings: Findings) -> list[Line]:
    """Each log loss beside the paper's."""
    told = []
    for record in findings.records:
        name, twin = ENCODERS.get(record["encoder"]) or (EMBEDDED[record["budget"]],) * 2
        told.append(
            {
                "learner": LEARNERS[record["learner"]],
                "encoder": name,
                "columns": record["columns"],
                "paper": network_loss(findings.paper, record["learner"], twin),
                "ours": "failed" if record["error"] else record["log_loss"],
            }
        )
    return told


def remarks(findings: Findings) -> list[str]:
    """Which encoder is the best for each learner, and what failed."""
    told = []
    for learner, name in LEARNERS.items():
        done = [r for r in findings.records if r["learner"] == learner and not r["error"]]
        if done:
            best = min(done, key=lambda record: record["log_loss"])
            encoder, _ = ENCODERS.get(best["encoder"]) or (EMBEDDED[best["budget"]], "")
            told.append(f"{name} is best with {encoder}: {best['log_loss']:.4f}")
    return told + [
        f"{record['learner']} with {record['encoder']} failed: {record['error']}"
        for record in findings.records
        if record["error"]
    ]


EXPERIMENT = Experiment(
    name="table-networks",
    what="Test log loss of learners on the columns of each encoder",
    where="Table 3",
    sets=SPARSE_SETS,
    run=run,
    lines=lines,
    remarks=remarks,
    needs=("torch",),
)
