"""The paper's own numbers, with the data sets that they belong to. What it only plots is not here.

Its tables of data sets and graphs are with the shapes that are made after them (`datasets.shapes`).
"""

from __future__ import annotations

from chromatic.lab.datasets.shapes import SHAPES, Figures

PLOTTED = "plotted only"
SPARSE_SETS = ("url", "kdda", "kddb", "kdd12")
FIELDS_SETS = ("criteo",)

# "to achieve equivalent log loss on the test set, FT requires a magnitude more features and HT requires
# two orders of magnitude": of all four sets.
TIMES_FEWER_COLUMNS = {"ft": 10, "ht": 100}

PAIRS_NEVER_SEEN = {"kdd12": 0.999997}

# Test log loss, by learner and encoder, of url, kdda, kddb and kdd12; 1024 columns, but for the two
# embeddings of 2^18 and 2^20 features.
_NETWORKS = {
    ("wd", "FT"): (0.046, 0.326, 0.314, 0.172),
    ("wd", "HT"): (0.058, 0.337, 0.328, 0.173),
    ("wd", "CL+SM"): (0.037, 0.296, 0.276, 0.159),
    ("wd", "CL+TE"): (0.325, 0.588, 0.517, 0.280),
    ("wd", "CL+FT@18"): (0.032, 0.292, 0.296, 0.169),
    ("wd", "CL+FT@20"): (0.030, 0.292, 0.291, 0.169),
    ("lr-net", "FT"): (0.077, 0.336, 0.315, 0.172),
    ("lr-net", "HT"): (0.087, 0.359, 0.330, 0.175),
    ("lr-net", "CL+SM"): (0.048, 0.308, 0.283, 0.159),
    ("lr-net", "CL+TE"): (0.198, 0.571, 0.423, 0.204),
    ("fm", "FT"): (0.076, 0.321, 0.311, 0.172),
    ("fm", "HT"): (0.086, 0.339, 0.323, 0.170),
    ("fm", "CL+SM"): (0.063, 0.303, 0.282, 0.159),
    ("fm", "CL+TE"): (0.253, 0.691, 0.665, 0.206),
    ("nfm", "FT"): (0.045, 0.320, 0.309, 0.172),
    ("nfm", "HT"): (0.056, 0.317, 0.310, 0.170),
    ("nfm", "CL+SM"): (0.040, 0.291, 0.271, 0.158),
    ("nfm", "CL+TE"): (0.285, 0.804, 0.839, 0.294),
    ("deepfm", "FT"): (0.053, 0.321, 0.313, 0.172),
    ("deepfm", "HT"): (0.075, 0.333, 0.327, 0.170),
    ("deepfm", "CL+SM"): (0.058, 0.302, 0.287, 0.159),
    ("deepfm", "CL+TE"): (0.363, 0.792, 0.681, 0.282),
}


def figures_of(data_set: str | None) -> Figures | None:
    """Return what the paper's tables say of a set; None where the paper does not have it.

    >>> figures_of("kdd12").colors
    22
    """
    return SHAPES[data_set].paper if data_set in SHAPES else None


def network_loss(data_set: str | None, learner: str, encoder: str) -> float | None:
    """Return the paper's test log loss of a learner on an encoder's columns.

    >>> network_loss("kddb", "nfm", "CL+SM")
    0.271
    """
    if data_set not in SPARSE_SETS:
        return None
    losses = _NETWORKS.get((learner, encoder))
    return None if losses is None else losses[SPARSE_SETS.index(data_set)]
