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
            name="url",
            what="is a URL malicious? Words of the address and facts about the host, over 121 days",
            train_rows=1_677_291,
            test_rows=718_839,
            features=3_231_961,
            license="none stated; by Ma, Saul, Savage and Voelker (ICML 2009)",
            page=_LIBSVM_PAGE,
            base=LIBSVM,
            files=(File(("url_combined.bz2",)),),
            share=0.7,
        ),
        DataSet(
            name="kdda",
            what="does a student solve a step of algebra at once? KDD Cup 2010, Algebra 2008-2009",
            train_rows=8_407_752,
            test_rows=510_302,
            features=20_216_830,
            license="none stated; KDD Cup 2010, the terms of PSLC DataShop",
            page=_LIBSVM_PAGE,
            base=LIBSVM,
            files=(File(("kdda.bz2",)), File(("kdda.t.bz2",))),
        ),
        DataSet(
            name="kddb",
            what="the same for KDD Cup 2010, Bridge to Algebra 2008-2009",
            train_rows=19_264_097,
            test_rows=748_401,
            features=29_890_095,
            license="none stated; KDD Cup 2010, the terms of PSLC DataShop",
            page=_LIBSVM_PAGE,
            base=LIBSVM,
            files=(File(("kddb.bz2",)), File(("kddb.t.bz2",))),
        ),
        DataSet(
            name="kdd12",
            what="is an ad clicked? KDD Cup 2012, track 2",
            train_rows=119_705_032,
            test_rows=29_934_073,
            features=54_686_452,
            license="none stated; KDD Cup 2012, the terms of the competition",
            page=_LIBSVM_PAGE,
            base=LIBSVM,
            files=(File(("kdd12.tr.xz", "kdd12.tr.bz2")), File(("kdd12.val.xz", "kdd12.val.bz2"))),
        ),
        DataSet(
            name="criteo",
            what="is an ad clicked? 13 counts and 26 fields, seven days; Kaggle's challenge of 2014",
            train_rows=40_000_000,
            test_rows=5_840_617,
            features=39,
            license="Criteo's own terms, on the page",
            page="https://ailab.criteo.com/ressources/",
            base="https://go.criteo.net/",
            files=(File(("criteo-research-kaggle-display-advertising-challenge-dataset.tar.gz",)),),
            first_rows=40_000_000,
            format="criteo",
        ),
    )
}


def data_set_of(name: str) -> DataSet:
    """Return a data set by name.

    >>> data_set_of("kddb").train_rows
    19264097
    """
    if name not in DATASETS:
        raise InputError(f"there is no data set {name!r}; expected one of {', '.join(DATASETS)}")
    return DATASETS[name]
