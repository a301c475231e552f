"""Every parameter, said once: its name, type, allowed values, default and sentence.

`Settings` is the table. The flags of commands and the Params of Spark are made from it; a test holds the
signature and the docstring of `ChromaticEncoder` against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, get_type_hints

from chromatic._parameter import Parameter, plain, said
from chromatic.errors import InputError
from chromatic.registry import ENCODINGS

Coloring = Literal["auto", "balanced", "first-fit", "random", "uniform", "fields"]
Order = Literal["count", "degree", "largest-first", "smallest-last"]
Leakage = Literal["crossfit", "split", "none"]
Quantizer = Literal["optimal", "greedy", "sort"]
Format = Literal["svmlight", "tokens", "vw", "parquet", "arrow", "csv", "tsv", "criteo", "npz"]
READING = "Reading"  # the group of what says how data is read
ROWS = "Rows"  # and of the columns of a table that tell of training rows
TargetType = Literal["auto", "binary", "classes", "numbers"]


@dataclass(frozen=True)
class Settings:
    """How a model is fitted.

    >>> Settings(budget=64).budget, Settings().dense_threshold
    (64, 0.1)
    """

    budget: int = said(
        'The most columns, dense ones included; for "frequency", the most features kept.',
        1024,
        group="Columns",
        least=1,
    )
    encoding: str = said(
        "How a color becomes columns: submodular (one-hot columns by mutual information with the label), "
        "target (a number a color), frequency (an integer a color, for embeddings and trees) or identity "
        "(the same, with every feature kept).",
        "submodular",
        group="Columns",
        choices=tuple(ENCODINGS),
    )
    quantizer: Quantizer = said(
        "How the rates of a color are cut into bins: optimal (exact), greedy (the paper's) or sort.",
        "optimal",
        group="Columns",
    )
    null: Literal["drop", "emit"] = said(
        "What an absent color becomes: drop makes no column for it, emit makes one.",
        "drop",
        group="Columns",
    )
    collisions: Literal["sum", "drop"] = said(
        "What happens where features of a row share a color: sum counts all of them, drop keeps the rarest "
        "(the paper's). Levels, of frequency and identity, always keep the rarest.",
        "sum",
        group="Columns",
    )
    linear: int | None = said(
        "The columns that hold sums of weights: what each feature adds in a linear model over all "
        "features. They count toward the budget; by default 16, or a fourth of a small budget, and one for "
        "each of several classes.",
        None,
        group="Columns",
        least=0,
    )
    min_gain: float | None = said(
        "What a column must tell of the label, in nats over all rows; by default half the logarithm of "
        "the number of rows, times the classes but one.",
        None,
        group="Columns",
        least=0,
    )
    coloring: Coloring = said(
        "How features get their colors: auto (fields where the data is a table, else balanced), balanced, "
        "first-fit, random, uniform (the paper's guarantee) or fields (the columns of a table are the "
        "colors, or what stands before = in a feature's name).",
        "auto",
        group="Colors",
    )
    max_colors: int | Literal["proper", "paper"] | None = said(
        "The most colors: a number, proper (as many as no collision needs) or paper (proper, at most half "
        "the budget); by default what suits the budget.",
        None,
        group="Colors",
        least=1,
    )
    order: Order = said(
        "The order in which balanced and first-fit take the features: count (the most frequent first), "
        "degree (those with the most neighbors first, as the paper's program does), largest-first or "
        "smallest-last.",
        "count",
        group="Colors",
    )
    min_edge_count: int | Literal["auto"] = said(
        "Only pairs of features seen in so many rows need different colors; above 1 the graph of these "
        "pairs is built; auto takes the number for which the paper's guarantee needs the fewest colors.",
        1,
        group="Colors",
        least=1,
    )
    target_type: TargetType = said(
        "What labels are: binary (two kinds), classes or numbers; auto takes two kinds as binary, texts as "
        "classes and fractions as numbers, and asks where whole numbers are of more than two kinds.",
        "auto",
        group="Labels",
    )
    leakage: Leakage = said(
        "Which rows give the rates that training rows are encoded by: crossfit (those of the other folds), "
        "split (some rows estimate, the others train) or none (all rows, their own labels included).",
        "crossfit",
        group="Labels",
    )
    folds: int | Literal["consecutive"] = said(
        "The number of folds of crossfit; consecutive makes 5 of neighboring rows, for rows in time order.",
        5,
        group="Labels",
        least=1,
    )
    split_rate: int = said("With split, 2**-split_rate of the rows estimate.", 1, group="Labels", least=0)
    smoothing: float | Literal["auto"] = said(
        "The pseudo-count of the overall rate; auto finds it by empirical Bayes.",
        "auto",
        group="Labels",
        least=0,
    )
    unestimated: Literal["prior", "null"] = said(
        "What a feature counts as that no row estimates: prior (the overall rate) or null (absent).",
        "prior",
        group="Labels",
    )
    weight: str | None = said(
        "The column of a table that has the weights of training rows; it is no feature.",
        None,
        group=ROWS,
        spark="weightCol",
    )
    group: str | None = said(
        "The column of a table that has the groups of training rows, each in one fold; it is no feature.",
        None,
        group=ROWS,
        spark="groupCol",
    )
    dense_threshold: float = said(
        "Features in more than this share of the rows are dense: they pass through with their values.",
        0.1,
        group="Features",
        least=0,
    )
    min_count: int = said("Sparse features in fewer rows are dropped.", 1, group="Features", least=1)
    values: Literal["elide", "distinct"] = said(
        "What values of sparse features other than 1 become: elide counts them as presence, distinct "
        "makes each value a feature of its own.",
        "elide",
        group="Features",
    )
    handle_unknown: Literal["ignore", "error"] = said(
        "What happens to features that were not in the training rows: ignore them, or refuse the rows "
        "with an error.",
        "ignore",
        group="Features",
    )
    names: bool = said("Keep the names of string features in the model.", True, group="Features")
    keep: Literal["statistics"] | None = said(
        "What the model keeps of its rows: statistics, the sums over labels by feature, so that it can be "
        "updated by later rows and merged with others.",
        None,
        group="Features",
    )
    sparse_output: bool = said(
        "Return a sparse matrix, and frames whose columns of bins are sparse; False: all of it dense.",
        True,
        group="Running",
        only_python=True,
    )
    categorical: Literal["auto"] | list[Any] = said(
        "The columns of a table that are categories, by name or position, or a mask of all columns; auto "
        "takes text, booleans, and whole numbers whose values repeat.",
        "auto",
        group=READING,
    )
    label: str | None = said(
        "The column of a table that has the labels; by default label. An empty text says that none has.",
        None,
        group=READING,
    )
    format: Format | None = said(
        "The format of files; by default told by suffix and content.", None, group=READING, in_file=False
    )
    delimiter: str | None = said(
        "What separates the columns of CSV, such as ; or tab; by default a comma, or a tab in a .tsv.",
        None,
        group=READING,
        in_file=False,
    )
    header: bool | None = said(
        "Whether CSV begins with the names of its columns; by default it does, and a first line that looks "
        "like a row is refused.",
        None,
        group=READING,
        in_file=False,
    )
    memory: str | None = said(
        "Keep within so much memory, such as 8G: rows are then parsed into a cache on disk.",
        None,
        group="Running",
        in_file=False,
    )
    cache: str | None = said(
        "The folder of that cache; by default in the user's cache folder.",
        None,
        group="Running",
        in_file=False,
    )
    threads: int | None = said(
        "The number of threads; by default all cores.",
        None,
        group="Running",
        python="n_jobs",
        in_file=False,
    )
    seed: int = said(
        "The seed of folds, halves and random colors.", 0, group="Running", python="random_state"
    )
    verbose: int = said(
        "Above 0, say what happens, through the logger chromatic.", 0, group="Running", in_file=False
    )

    def __post_init__(self) -> None:
        for parameter in PARAMETERS:
            parameter.check(getattr(self, parameter.name))
        if self.coloring == "fields" and self.min_edge_count != 1:
            raise InputError("min_edge_count is of no use where coloring is 'fields'; expected 1")
        if self.linear and self.linear > self.budget:
            raise InputError(
                f"linear is {self.linear} and the budget {self.budget}; expected at most the budget"
            )
        if self.linear and self.collisions == "drop":
            raise InputError(
                "linear columns sum the weights of all features and collisions is 'drop'; expected 'sum', "
                "or linear=0"
            )
        check_order(self.order, self.coloring)
        if self.keep is not None and self.leakage == "split":
            raise InputError(
                "keep is 'statistics' and leakage 'split', which leaves rows out of them; expected another "
                "leakage, or keep=None"
            )
        if self.leakage == "crossfit" and self.folds != "consecutive" and self.folds < 2:
            raise InputError(f"folds is {self.folds}; expected 2 or more, or another leakage")
        if self.leakage == "split" and not 1 <= self.split_rate <= 32:
            raise InputError(f"split_rate is {self.split_rate}; expected 1 to 32")
        if self.cache is not None and self.memory is None:
            raise InputError("cache is of no use without memory; expected both, or neither")

    @classmethod
    def paper(cls, budget: int | None = None, **others: Any) -> Self:
        """Return the paper's own setting: first-fit by degree, greedy, split, nothing smoothed."""
        return cls(**of_paper(others) | ({} if budget is None else {"budget": budget}))

    @classmethod
    def of_kept(cls, parameters: Mapping[str, Any], **others: Any) -> Self:
        """Return the settings of a model file, with others in the place of those that it does not keep."""
        names = {one.python: one.name for one in PARAMETERS}
        return cls(**{names[python]: value for python, value in parameters.items()} | others)

    @property
    def keeps_fields(self) -> bool:
        """Whether the categories of a table are to be colors, as far as the parameters tell."""
        plain = self.order == "count" and self.min_edge_count == 1
        return self.coloring == "fields" or (self.coloring == "auto" and plain)

    @property
    def kept(self) -> dict[str, Any]:
        """The parameters that a model file keeps, by their names in Python."""
        return {one.python: plain(getattr(self, one.name)) for one in PARAMETERS if one.in_file}


PAPER: dict[str, Any] = {
    "coloring": "first-fit",
    "order": "degree",
    "max_colors": "paper",
    "leakage": "split",
    "smoothing": 0.0,
    "quantizer": "greedy",
    "null": "emit",
    "collisions": "drop",
    "linear": 0,
    "min_gain": 0.0,
    "unestimated": "null",
}
ORDERED = ("auto", "balanced", "first-fit")  # the colorings that take features in an order of one's choice


def of_paper(others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the paper's parameters with others in their place; some colorings have no order."""
    ordered = others.get("coloring", "first-fit") in ORDERED
    return PAPER | ({} if ordered else {"order": "count"}) | dict(others)


def check_order(order: str, coloring: str) -> None:
    """Refuse an order with a coloring that has none."""
    if order != "count" and coloring not in ORDERED:
        raise InputError(
            f"order is {order!r} and the coloring {coloring!r} has none; expected 'count', or the coloring "
            f"{' or '.join(map(repr, ORDERED[1:]))}"
        )


def _table() -> tuple[Parameter, ...]:
    hints = get_type_hints(Settings)
    return tuple(
        Parameter.of(one.name, one.default, hints[one.name], one.metadata) for one in fields(Settings)
    )


PARAMETERS = _table()
SHARED = tuple(one for one in PARAMETERS if not one.only_python)  # those of commands and of Spark
# Frames are read already, but for which of their columns are categories; `labelCol` names the label.
ON_SPARK = tuple(one for one in SHARED if one.group != READING or one.name == "categorical")
DEFAULTS = Settings()


def kept_in_files(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some parameters, by their names in Python, that a model file keeps; check them."""
    kept = {one.python: one for one in PARAMETERS if one.in_file and one.python in given}
    for name, parameter in kept.items():
        parameter.check(given[name])
    return {name: plain(given[name]) for name in kept}


def check_parameter(name: str, value: Any) -> None:
    """Refuse a value that a parameter cannot have."""
    next(one for one in PARAMETERS if one.name == name).check(value)
