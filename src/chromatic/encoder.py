"""`ChromaticEncoder` in scikit-learn's manners: a view of a model. What it does is elsewhere."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import ClassifierTags, Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from chromatic import modelfile
from chromatic._living import LivingView, labels_of
from chromatic._log import told
from chromatic.data.reader import paths_of
from chromatic.encoding.encoded import Encoded
from chromatic.errors import InputError
from chromatic.fitting import LocalSource, MemorySource, fit
from chromatic.fitting.labels import NOTHING_TOLD, OfRows
from chromatic.fitting.sources import source_of_files
from chromatic.model import Input, Model
from chromatic.parameters import PARAMETERS, Settings, kept_in_files, of_paper
from chromatic.registry import ENCODINGS, encoding_class


class ChromaticEncoder(LivingView):
    """Turn millions of sparse features into a few hundred meaningful columns.

    Features that never occur together share a color, one categorical variable. The label's help then
    compresses all colors to `budget` columns.

    Parameters
    ----------
    budget : int, default=1024
        The most columns, dense ones included; for "frequency", the most features kept.
    encoding : {"submodular", "target", "frequency", "identity"}, default="submodular"
        How a color becomes columns: submodular (one-hot columns by mutual information with the label),
        target (a number a color), frequency (an integer a color, for embeddings and trees) or identity (the
        same, with every feature kept).
    coloring : {"auto", "balanced", "first-fit", "random", "uniform", "fields"}, default="auto"
        How features get their colors: auto (fields where the data is a table, else balanced), balanced,
        first-fit, random, uniform (the paper's guarantee) or fields (the columns of a table are the colors,
        or what stands before = in a feature's name).
    max_colors : int or {"proper", "paper"}, default=None
        The most colors: a number, proper (as many as no collision needs) or paper (proper, at most half the
        budget); by default what suits the budget.
    order : {"count", "degree", "largest-first", "smallest-last"}, default="count"
        The order in which balanced and first-fit take the features: count (the most frequent first), degree
        (those with the most neighbors first, as the paper's program does), largest-first or smallest-last.
    min_edge_count : int or {"auto"}, default=1
        Only pairs of features seen in so many rows need different colors; above 1 the graph of these pairs
        is built; auto takes the number for which the paper's guarantee needs the fewest colors.
    target_type : {"auto", "binary", "classes", "numbers"}, default="auto"
        What labels are: binary (two kinds), classes or numbers; auto takes two kinds as binary, texts as
        classes and fractions as numbers, and asks where whole numbers are of more than two kinds.
    leakage : {"crossfit", "split", "none"}, default="crossfit"
        Which rows give the rates that training rows are encoded by: crossfit (those of the other folds),
        split (some rows estimate, the others train) or none (all rows, their own labels included).
    folds : int or {"consecutive"}, default=5
        The number of folds of crossfit; consecutive makes 5 of neighboring rows, for rows in time order.
    split_rate : int, default=1
        With split, 2**-split_rate of the rows estimate.
    smoothing : float or {"auto"}, default="auto"
        The pseudo-count of the overall rate; auto finds it by empirical Bayes.
    quantizer : {"optimal", "greedy", "sort"}, default="optimal"
        How the rates of a color are cut into bins: optimal (exact), greedy (the paper's) or sort.
    null : {"drop", "emit"}, default="drop"
        What an absent color becomes: drop makes no column for it, emit makes one.
    collisions : {"sum", "drop"}, default="sum"
        What happens where features of a row share a color: sum counts all of them, drop keeps the rarest
        (the paper's). Levels, of frequency and identity, always keep the rarest.
    linear : int, default=None
        The columns that hold sums of weights: what each feature adds in a linear model over all features.
        They count toward the budget; by default 16, or a fourth of a small budget, and one for each of
        several classes.
    min_gain : float, default=None
        What a column must tell of the label, in nats over all rows; by default half the logarithm of the
        number of rows, times the classes but one.
    unestimated : {"prior", "null"}, default="prior"
        What a feature counts as that no row estimates: prior (the overall rate) or null (absent).
    weight : str, default=None
        The column of a table that has the weights of training rows; it is no feature.
    group : str, default=None
        The column of a table that has the groups of training rows, each in one fold; it is no feature.
    dense_threshold : float, default=0.1
        Features in more than this share of the rows are dense: they pass through with their values.
    min_count : int, default=1
        Sparse features in fewer rows are dropped.
    values : {"elide", "distinct"}, default="elide"
        What values of sparse features other than 1 become: elide counts them as presence, distinct makes
        each value a feature of its own.
    handle_unknown : {"ignore", "error"}, default="ignore"
        What happens to features that were not in the training rows: ignore them, or refuse the rows with an
        error.
    names : bool, default=True
        Keep the names of string features in the model.
    keep : {"statistics"}, default=None
        What the model keeps of its rows: statistics, the sums over labels by feature, so that it can be
        updated by later rows and merged with others.
    sparse_output : bool, default=True
        Return a sparse matrix, and frames whose columns of bins are sparse; False: all of it dense.
    categorical : {"auto"}, list of str or int, or mask, default="auto"
        The columns of a table that are categories, by name or position, or a mask of all columns; auto
        takes text, booleans, and whole numbers whose values repeat.
    label : str, default=None
        The column of a table that has the labels; by default label. An empty text says that none has.
    format : {"svmlight", "tokens", "vw", "parquet", "arrow", "csv", "tsv", "criteo", "npz"}, default=None
        The format of files; by default told by suffix and content.
    delimiter : str, default=None
        What separates the columns of CSV, such as ; or tab; by default a comma, or a tab in a .tsv.
    header : bool, default=None
        Whether CSV begins with the names of its columns; by default it does, and a first line that looks
        like a row is refused.
    memory : str, default=None
        Keep within so much memory, such as 8G: rows are then parsed into a cache on disk.
    cache : str, default=None
        The folder of that cache; by default in the user's cache folder.
    n_jobs : int, default=None
        The number of threads; by default all cores.
    random_state : int or RandomState, default=0
        The seed of folds, halves and random colors.
    verbose : int, default=0
        Above 0, say what happens, through the logger chromatic.

    Attributes
    ----------
    model_ : Model
        Everything that the fit found; `save` writes it to a file.
    encoding_ : Encoding
        The fitted encoding, without scikit-learn's manners.
    n_colors_ : int
        The number of colors.
    colors_ : ndarray of shape (n_sparse_features,)
        The color of each sparse feature, frequent ones first.
    n_columns_ : int
        The number of columns, dense ones included.
    field_dims_ : ndarray of shape (n_colors_,)
        For "frequency" and "identity", how many levels each color has, 0 included.
    training_rows_ : ndarray
        The numbers of the rows to train on: all of them, but for leakage="split".
    smoothing_ : float or None
        The pseudo-count that was used; None where there was none, or one for each of several classes.
    classes_ : ndarray
        The kinds of labels, ascending; not where labels are numbers, or were not used.
    n_features_in_ : int
        The number of columns of the matrix or table that it was fitted on.
    feature_names_in_ : ndarray of str
        The names of these columns, where they have names.

    See Also
    --------
    FrequencyEncoder : A column for each of the most frequent features.
    HashingEncoder : Columns by the features' hashes.

    References
    ----------
    .. [1] V. Feinberg and P. Bailis, "Chromatic Learning for Sparse Datasets", 2020.

    Examples
    --------
    >>> X = [["red", f"item{i % 50}"] for i in range(500)]
    >>> encoder = ChromaticEncoder(budget=8)
    >>> encoder.fit_transform(X, [i % 50 < 20 for i in range(500)]).shape
    (500, 3)
    >>> encoder.get_feature_names_out().tolist()
    ['item26|item45|+28(rate=0.0040)', 'item2|item16|+48(linear)', 'red']
    >>> encoder.transform([["item3", "blue"], ["item30"]]).toarray().round(1).tolist()
    [[0.0, 4.6, 0.0], [1.0, -3.1, 0.0]]
    """

    def __init__(
        self,
        budget: int = 1024,
        *,
        encoding: str = "submodular",
        coloring: str = "auto",
        max_colors: int | str | None = None,
        order: str = "count",
        min_edge_count: int | str = 1,
        target_type: str = "auto",
        leakage: str = "crossfit",
        folds: int | str = 5,
        split_rate: int = 1,
        smoothing: float | str = "auto",
        quantizer: str = "optimal",
        null: str = "drop",
        collisions: str = "sum",
        linear: int | None = None,
        min_gain: float | None = None,
        unestimated: str = "prior",
        weight: str | None = None,
        group: str | None = None,
        dense_threshold: float = 0.1,
        min_count: int = 1,
        values: str = "elide",
        handle_unknown: str = "ignore",
        names: bool = True,
        keep: str | None = None,
        sparse_output: bool = True,
        categorical: Any = "auto",
        label: str | None = None,
        format: str | None = None,
        delimiter: str | None = None,
        header: bool | None = None,
        memory: str | None = None,
        cache: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.budget, self.encoding = budget, encoding
        self.coloring, self.max_colors = coloring, max_colors
        self.order, self.min_edge_count = order, min_edge_count
        self.target_type = target_type
        self.leakage, self.folds, self.split_rate = leakage, folds, split_rate
        self.smoothing = smoothing
        self.quantizer, self.null = quantizer, null
        self.collisions = collisions
        self.linear, self.min_gain = linear, min_gain
        self.unestimated, self.weight, self.group = unestimated, weight, group
        self.dense_threshold, self.min_count = dense_threshold, min_count
        self.values, self.handle_unknown = values, handle_unknown
        self.names, self.keep = names, keep
        self.sparse_output = sparse_output
        self.categorical, self.label = categorical, label
        self.format, self.delimiter, self.header = format, delimiter, header
        self.memory, self.cache = memory, cache
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, budget: int = 1024, **parameters: Any) -> Self:
        """Return an encoder with the setting of the paper.

        First-fit colors by descending degree, the greedy quantizer, one part of the rows for estimating,
        nothing smoothed.

        Parameters
        ----------
        budget : int, default=1024
            The most columns, dense ones included.
        **parameters : dict
            Other parameters that are to differ from the paper's.

        Returns
        -------
        ChromaticEncoder
            An encoder that is not fitted yet.
        """
        return cls(budget, **of_paper(parameters))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        known = self.encoding in ENCODINGS
        tags.target_tags.required = known and encoding_class(self.encoding).statistic is not None
        # Their whole numbers are labels of several classes, which have to be asked for.
        tags.classifier_tags = ClassifierTags(multi_class=self.target_type == "classes")
        return tags

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The kinds of labels, ascending; not where labels are numbers, or were not used."""
        classes = self._fitted.classes
        if classes is None:
            raise AttributeError("there are no classes_: labels are numbers, or were not used")
        return np.array(classes)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : sparse matrix, list of rows, table or path
            The training rows: a scipy matrix, a list of lists, sets or dicts of features, a table of
            pandas, polars or Arrow, or the path of a file.
        y : array-like of shape (n_rows,), default=None
            The labels, where they are needed and do not come with X.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of rows where columns are learned from labels; only their ratios count.
        groups : array-like of shape (n_rows,), default=None
            The groups of rows: those of one group share a fold, so that no row is encoded by the labels of
            its group.

        Returns
        -------
        self
            The fitted encoder.
        """
        self._fit(X, y, OfRows(sample_weight, groups))
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Any:
        """Learn from rows, and return their columns.

        Parameters
        ----------
        X : sparse matrix, list of rows, table or path
            The training rows, as `fit` takes them.
        y : array-like of shape (n_rows,), default=None
            The labels, where they are needed and do not come with X.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of rows, as `fit` takes them.
        groups : array-like of shape (n_rows,), default=None
            The groups of rows, as `fit` takes them.

        Returns
        -------
        csr_array, ndarray or DataFrame of shape (n_rows, n_columns)
            The columns of the training rows. They do not know the labels of their own rows. An ndarray with
            `sparse_output=False`, and where there are no columns.
        """
        self._check_fit_transform()
        return self._output(self._fit(X, y, OfRows(sample_weight, groups)), X)

    def _check_fit_transform(self) -> None:
        if self.leakage == "split" and self.__sklearn_tags__().target_tags.required:
            raise InputError(
                "leakage is 'split', and no learner may train on the rows that estimate, which "
                "fit_transform and a Pipeline would hand on; expected leakage='crossfit', or fit(X, y) and "
                "then transform of the rows training_rows_"
            )

    def _fit(self, X: Any, y: Any, told_of_rows: OfRows = NOTHING_TOLD) -> Encoded:
        settings = self._settings()
        with told(self.verbose), self._source(X, y, settings, told_of_rows) as (source, input):
            fitted = fit(source, settings)
            found = settings.kept, input, fitted.trains, fitted.class_labels
            self._hold(Model(fitted.encoding, *found, kept=fitted.kept))
            return fitted.training

    @contextlib.contextmanager
    def _source(
        self, X: Any, y: Any, settings: Settings, told_of_rows: OfRows
    ) -> Iterator[tuple[LocalSource, Input]]:
        """Open X as training rows."""
        apart, paths = y is not None, paths_of(X)
        labels = labels_of(y) if apart and encoding_class(settings.encoding).statistic is not None else None
        if settings.memory is None:
            batches, input = self._read_to_fit(X, labels_apart=apart)
            yield MemorySource(batches, labels, told_of_rows, threads=self.n_jobs), input
            return
        if paths is None:
            raise InputError(
                f"memory is {settings.memory!r} and X is in memory already; expected paths of files, or "
                "memory=None"
            )
        reader = self._reader(Input(label=self.label), labels_apart=apart)
        with source_of_files(reader, paths, settings, labels, told_of_rows) as source:
            yield source, Input("files", label=reader.label)

    def _settings(self) -> Settings:
        given = {one.name: getattr(self, one.python) for one in PARAMETERS}
        if not isinstance(self.random_state, Integral):
            given["seed"] = check_random_state(self.random_state).randint(1 << 31)
        return Settings(**given)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted encoder to a file that `load` reads; it holds no code.

        Parameters
        ----------
        path : str or path
            The file.
        """
        check_is_fitted(self)
        given = self.get_params()
        if not isinstance(self.random_state, Integral):
            given["random_state"] = self.model_.parameters.get("random_state", 0)  # as it was drawn
        modelfile.save(replace(self.model_, parameters=kept_in_files(given)), path, names=self.names)


def load(path: str | os.PathLike[str]) -> ChromaticEncoder:
    """Read an encoder from a file that `ChromaticEncoder.save` or `chromatic fit` wrote.

    Parameters
    ----------
    path : str or path
        The file, of this version or an earlier one.

    Returns
    -------
    ChromaticEncoder
        The fitted encoder.
    """
    model = modelfile.load(path)
    encoder = ChromaticEncoder(**model.parameters)
    encoder._hold(model)
    return encoder
