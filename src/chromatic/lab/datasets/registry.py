"""The paper's data sets: what they are, how large, under which terms, and where they come from.

No checksum of these files is published. So none is here: the checksum of the first download is kept
beside the file and holds from then on (`fetch`).
"""

from __future__ import annotations

from dataclasses import dataclass

from chromatic.errors import InputError

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"


@dataclass(frozen=True)
class File:
    """A file to download: the names under which a server may have it, and its published SHA-256."""

    names: tuple[str, ...]
    sha256: str | None = None


@dataclass(frozen=True)
class DataSet:
    """A data set of the paper, and how its training and test rows are told apart.

    Two files are the training and the test rows. Of one file, either a share or a number of rows,
    the first in time, is for training.
    """

    name: str
    what: str
    train_rows: int
    test_rows: int
    features: int
    license: str
    page: str
    base: str
    files: tuple[File, ...]
    share: float | None = None
    first_rows: int | None = None
    format: str = "svmlight"


_LIBSVM_PAGE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html"

DATASETS = {
    data_set.name: data_set
    for data_set in (
        DataSet(
            "url",
            "is a URL malicious? Words of the address and facts about the host, over 121 days",
            1_677_291,
            718_839,
            3_231_961,
            "none stated; by Ma, Saul, Savage and Voelker (ICML 2009)",
            _LIBSVM_PAGE,
            LIBSVM,
            (File(("url_combined.bz2",)),),
            share=0.7,
        ),
        DataSet(
            "kdda",
            "does a student solve a step of algebra at once? KDD Cup 2010, Algebra 2008-2009",
            8_407_752,
            510_302,
            20_216_830,
            "none stated; KDD Cup 2010, the terms of PSLC DataShop",
            _LIBSVM_PAGE,
            LIBSVM,
            (File(("kdda.bz2",)), File(("kdda.t.bz2",))),
        ),
        DataSet(
            "kddb",
            "the same for KDD Cup 2010, Bridge to Algebra 2008-2009",
            19_264_097,
            748_401,
            29_890_095,
            "none stated; KDD Cup 2010, the terms of PSLC DataShop",
            _LIBSVM_PAGE,
            LIBSVM,
            (File(("kddb.bz2",)), File(("kddb.t.bz2",))),
        ),
        DataSet(
            "kdd12",
            "is an ad clicked? KDD Cup 2012, track 2",
            119_705_032,
            29_934_073,
            54_686_452,
            "none stated; KDD Cup 2012, the terms of the competition",
            _LIBSVM_PAGE,
            LIBSVM,
            (File(("kdd12.tr.xz", "kdd12.tr.bz2")), File(("kdd12.val.xz", "kdd12.val.bz2"))),
        ),
        DataSet(
            "criteo",
            "is an ad clicked? 13 counts and 26 fields, seven days; Kaggle's challenge of 2014",
            40_000_000,
            5_840_617,
            39,
            "Criteo's own terms, on the page",
            "https://ailab.criteo.com/ressources/",
            "https://go.criteo.net/",
            (File(("criteo-research-kaggle-display-advertising-challenge-dataset.tar.gz",)),),
            first_rows=40_000_000,
            format="criteo",
        ),
    )
}


def data_set_of(name: str) -> DataSet:
    """A data set by name.

    >>> data_set_of("kddb").train_rows
    19264097
    """
    if name not in DATASETS:
        raise InputError(f"there is no data set {name!r}; expected one of {', '.join(DATASETS)}")
    return DATASETS[name]
