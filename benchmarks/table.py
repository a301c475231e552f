"""Logistic regression on the columns of every encoder, on real data: python benchmarks/table.py FOLDER.

The folder has npm, qemu_commits and debian_survival, each with train.svm and test.svm (or .xz). C is chosen
on a fifth of the training rows that is to the others as the test rows are to all: drawn at random for npm,
where a hash decided, and the last for the two that are in time order.
"""

import sys
from pathlib import Path

from chromatic.learn.encoders import Split
from chromatic.learn.evaluate import evaluate

ENCODERS = "ft", "ht", "cl-sm-paper", "cl-sm"
SETS = {
    "npm": ("random", (256, 1024)),
    "qemu_commits": ("last", (256, 1024)),
    "debian_survival": ("last", (1024,)),
}
WANTED = {
    ("npm", "cl-sm", 256): "log loss <= 0.447",
    ("npm", "cl-sm", 1024): "log loss <= 0.440",
    ("npm", "cl-sm-paper", 1024): "log loss <= 0.458",
    ("qemu_commits", "cl-sm", 256): "log loss <= 0.292",
    ("qemu_commits", "cl-sm", 1024): "log loss <= 0.293",
    ("debian_survival", "cl-sm", 1024): "AUC above ht and cl-sm-paper",
}


def find(folder, part):
    return next(str(path) for path in sorted(folder.glob(f"{part}.svm*")))


def main(folder, names):
    print(
        f"{'data':<17}{'encoder':<13}{'budget':>7}{'columns':>11}{'log loss':>10}{'AUC':>8}{'seconds':>9}"
    )
    for name in names:
        validation, budgets = SETS[name]
        split = Split.read(find(folder / name, "train"), find(folder / name, "test"))
        options = {"validation": validation, "threads": 2}
        encoders = (*ENCODERS, "none") if name == "npm" else ENCODERS
        for row in evaluate(split, encoders, ["lr"], budgets, **options):
            if row["error"] is not None:
                sys.exit(row["error"])
            seconds = row["encode_seconds"] + row["train_seconds"]
            wanted = WANTED.get((name, row["encoder"], row["budget"]), "")
            print(
                f"{name:<17}{row['encoder']:<13}{row['budget'] or '':>7}{row['columns']:>11,}"
                f"{row['log_loss']:>10.4f}{row['auc']:>8.4f}{seconds:>9.1f}   {wanted}",
                flush=True,
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or list(SETS))
