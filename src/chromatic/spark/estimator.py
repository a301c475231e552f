"""`ChromaticEstimator` and `ChromaticModel`: the manners of pyspark.ml, no algorithm of their own."""

from __future__ import annotations

from dataclasses import replace
from types import NoneType
from typing import TYPE_CHECKING, Any, Self

from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasInputCol, HasInputCols, HasLabelCol, HasOutputCol
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import DataFrame, SparkSession

from chromatic._log import told
from chromatic._parameter import Parameter
from chromatic.data.limit import parse_size
from chromatic.encoding.protocol import Encoding, parts_of
from chromatic.fitting.fit import learn
from chromatic.fitting.kept import Kept
from chromatic.fitting.labels import plain_classes
from chromatic.model import Input
from chromatic.model import Model as FittedModel
from chromatic.parameters import ON_SPARK, Settings
from chromatic.registry import encoding_class
from chromatic.spark import files
from chromatic.spark.columns import TABLE, check_at_rest
from chromatic.spark.encoding import Encoder
from chromatic.spark.frames import errors_of_workers
from chromatic.spark.source import Place, SparkSource
from chromatic.spark.tables import with_table
from chromatic.spark.training import ByFold, tables_by_fold

if TYPE_CHECKING:
    from chromatic.spark.tuning import Tuned

_CONVERTERS: dict[tuple[type, ...], Any] = {
    (bool,): TypeConverters.toBoolean,
    (int,): TypeConverters.toInt,
    (float,): TypeConverters.toFloat,
    (str,): TypeConverters.toString,
}
MODEL_FILE = "model.chroma"


def _param(name: str, doc: str, *kinds: type) -> Param[Any]:
    converter = _CONVERTERS.get(kinds, TypeConverters.identity)
    return Param(Params._dummy(), name, doc, typeConverter=converter)


def _of_table(parameter: Parameter) -> Param[Any]:
    """Return a Param of the table of parameters; one that may be None stays unset."""
    kinds = (kind for kind in parameter.kinds if kind is not NoneType)
    return _param(parameter.spark, parameter.sentence, *kinds)


# Spark looks for Params among the attributes of a class.
_TableParams: Any = type("_TableParams", (Params,), {one.spark: _of_table(one) for one in ON_SPARK})


class _ChromaticParams(HasInputCol, HasInputCols, HasLabelCol, HasOutputCol, _TableParams):  # type: ignore[misc]
    """The parameters of `ChromaticEncoder` as Spark names them, and those that only Spark needs."""

    orderCol = _param(
        "orderCol",
        "numbers identical rows, for folds; unset: the order in which the frame has its rows",
        str,
    )
    driverMemoryInMB = _param(
        "driverMemoryInMB", "what coloring may take in the driver's Python, where memory is unset", int
    )
    colorBy = _param(
        "colorBy",
        "what features are colored by where the rows do not fit the driver: sample, or graph; unset: graph "
        "where minEdgeCount is above 1, else sample",
        str,
    )
    broadcastInMB = _param(
        "broadcastInMB", "a vocabulary or a model that takes more of a Python worker is joined", int
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._setDefault(
            inputCol="features",
            labelCol="label",
            outputCol="columns",
            driverMemoryInMB=8192,
            broadcastInMB=1024,
            **{one.spark: one.default for one in ON_SPARK if one.default is not None},
        )

    def setParams(self, **given: Any) -> Self:
        """Set several parameters by name."""
        return self._set(**given)

    def setInputCol(self, value: str) -> Self:
        return self._set(inputCol=value)

    def setInputCols(self, value: list[str]) -> Self:
        return self._set(inputCols=value)

    def setLabelCol(self, value: str) -> Self:
        return self._set(labelCol=value)

    def setOutputCol(self, value: str) -> Self:
        return self._set(outputCol=value)

    def setOrderCol(self, value: str) -> Self:
        return self._set(orderCol=value)

    def setBudget(self, value: int) -> Self:
        return self._set(budget=value)

    def _get(self, name: str) -> Any:
        param = self.getParam(name)
        return self.getOrDefault(param) if self.isDefined(param) else None

    @property
    def _settings(self) -> Settings:
        return Settings(**{one.name: self._get(one.spark) for one in ON_SPARK})

    @property
    def _place(self) -> Place:
        memory = self._get("memory")
        return Place(
            features=self._get("inputCol"),
            label=self._get("labelCol"),
            order=self._get("orderCol"),
            columns=tuple(self._get("inputCols") or ()),
            driver_bytes=self._get("driverMemoryInMB") << 20 if memory is None else parse_size(memory),
            broadcast_bytes=self._get("broadcastInMB") << 20,
            color_by=self._get("colorBy"),
        )


class ChromaticEstimator(
    _ChromaticParams,
    Estimator["ChromaticModel"],
    DefaultParamsReadable["ChromaticEstimator"],
    DefaultParamsWritable,
):
    """Learn columns from a frame of features and labels.

    On the same rows, with the same parameters, the model is that of `ChromaticEncoder`.

    Parameters
    ----------
    **given : dict
        The parameters of `ChromaticEncoder` in Spark's spelling (`minCount` for `min_count`, `seed` for
        `random_state`, `threads` for `n_jobs`), and these: `inputCol` ("features"), a column of
        array<string>, array<long>, array<struct<name, value>>, map<string, double>, or a vector of
        pyspark.ml, whose column j is the feature j, or in its place `inputCols`, the columns of a table;
        `labelCol` ("label"); `outputCol` ("columns");
        `orderCol`, a column that numbers identical rows; `driverMemoryInMB` (8192), what coloring may take
        in the driver's Python; `colorBy`, what colors come from where the rows need more than that, a
        "sample" of them or the "graph" of pairs (by default the graph where `minEdgeCount` is above 1, else
        a sample); `broadcastInMB` (1024), above which vocabulary and model are joined and not broadcast.

    See Also
    --------
    ChromaticModel : What `fit` returns.
    chromatic.ChromaticEncoder : The same on one machine.

    Examples
    --------
    >>> from chromatic.spark import ChromaticEstimator
    >>> model = ChromaticEstimator(budget=256).fit(frame)  # doctest: +SKIP
    >>> model.transformTraining(frame).select("label", "columns")  # doctest: +SKIP
    """

    _input_kwargs: dict[str, Any]

    @keyword_only
    def __init__(self, **given: Any) -> None:
        super().__init__()
        self._set(**given)

    def _fit(self, dataset: DataFrame) -> ChromaticModel:
        check_at_rest(dataset, "a model is fitted")
        uses_labels = encoding_class(self._settings.encoding).statistic is not None
        return self._learned(SparkSource(dataset, self._place, self._settings, uses_labels=uses_labels))

    def _learned(self, source: SparkSource) -> ChromaticModel:
        with errors_of_workers(), told(source.settings.verbose):
            learned = learn(source, source.settings)
        model = ChromaticModel(learned.encoding, plain_classes(learned.classes))
        weights = [part.weights for part in learned.parts]
        model._weights = [None if one is None else one.by_fold for one in weights]
        model._kept = learned.kept(learned.encoding.vocabulary, source.weight_unit)
        return self._copyValues(model)

    def tune(self, train: DataFrame, validation: DataFrame) -> Tuned:
        """Choose settings by a frame for validation, and fit with them.

        The settings that `chromatic.learn.tuning.tune` tries are tried, and judged as there, on the driver,
        by at most 100,000 rows of each frame. What was set to another value than its default stays. Weights
        and groups of rows have a say in the last fit alone.

        Parameters
        ----------
        train : DataFrame
            The rows to learn from.
        validation : DataFrame
            The rows that judge, later ones for example: the same columns of features and labels.

        Returns
        -------
        Tuned
            The `model`, fitted to `train` with the best settings, and the `trials`, best first.
        """
        from chromatic.spark.tuning import tune

        return tune(self, train, validation)

    def _with_settings(self, settings: Settings) -> Self:
        other, given = self.copy(), params_of(settings)
        for name in {one.spark for one in ON_SPARK} - {*given}:
            other.clear(other.getParam(name))
        return other._set(**given)


class ChromaticModel(_ChromaticParams, Model, MLWritable, MLReadable["ChromaticModel"]):
    """Encode the features of a frame.

    The columns are sparse vectors or, for the encodings frequency and identity, arrays of levels. Where
    levels have dense features beside them, their values are in the column `<outputCol>_dense`.

    Parameters
    ----------
    encoding : Encoding, default=None
        What was learned; None for a model that is about to be loaded.
    classes : tuple, default=None
        The kinds of labels, ascending; None where labels are numbers, or were not used.

    See Also
    --------
    ChromaticEstimator : What makes it.

    Examples
    --------
    >>> from chromatic.spark import ChromaticModel
    >>> ChromaticModel.load("model.chroma").transform(frame)  # doctest: +SKIP
    """

    def __init__(self, encoding: Encoding | None = None, classes: tuple[Any, ...] | None = None) -> None:
        super().__init__()
        self.classes_ = classes
        self._weights: ByFold | None = None  # of linear columns out of each fold, from the fit itself
        self._kept: Kept | None = None  # what the model keeps of its rows
        if encoding is not None:
            self._hold(encoding)

    def _hold(self, encoding: Encoding) -> None:
        self.encoding_ = encoding
        self._encoder = Encoder(encoding)

    @property
    def n_columns_(self) -> int:
        """The columns, dense ones included."""
        return self.encoding_.n_sparse_columns + len(self.encoding_.vocabulary.dense_names)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        place = self._place_for(dataset)
        self._encoder.most_broadcast = place.broadcast_bytes
        frame = dataset if not place.columns else with_table(dataset, list(place.columns))
        names = (self._get(name) for name in ("outputCol", "handleUnknown"))
        return self._encoder.encode(frame, place.features, *names).drop(TABLE)

    def _place_for(self, frame: DataFrame) -> Place:
        """Return where a frame has its features; a model of a file tells its columns by its schema."""
        place, schema = self._place, self.encoding_.vocabulary.schema
        if not place.columns and schema is not None and schema.columns:
            sets = [place.features] if place.features in frame.columns else []
            place = replace(place, columns=(*sets, *(column.name for column in schema.columns)))
        return place if not place.columns else replace(place, features=TABLE)

    def transformTraining(self, dataset: DataFrame) -> DataFrame:
        """Encode the frame that the model was fitted on, to train a learner.

        With crossfit, each row is encoded by the rates of the other folds; with split, only the rows that
        are left to train on; else as `transform` does it.

        Parameters
        ----------
        dataset : DataFrame
            The frame. Identical rows are numbered by `orderCol`: give one where the order of the frame is
            not always the same.

        Returns
        -------
        DataFrame
            The frame with the column `outputCol`.
        """
        settings, encoding = self._settings, self.encoding_
        if parts_of(encoding)[0].statistic is None or settings.leakage == "none":
            return self._transform(dataset)
        check_at_rest(dataset, "training rows are encoded by their folds")
        source = SparkSource(dataset, self._place_for(dataset), settings, by_fold=True)
        tables = None
        with errors_of_workers(), told(settings.verbose):
            if settings.leakage == "crossfit":
                tables = tables_by_fold(source, encoding, self.classes_, self._weights)
            numbering = source.numbering()
        self._encoder.most_broadcast = source.place.broadcast_bytes
        names = source.place.features, self._get("outputCol")
        return self._encoder.encode_by_fold(source.frame, *names, numbering, tables).drop(TABLE)

    @property
    def _model(self) -> FittedModel:
        input = Input("files", label=self._get("labelCol"))
        parameters = self._settings.kept
        return FittedModel(self.encoding_, parameters, input, classes=self.classes_, kept=self._kept)

    def writeFile(self, path: str) -> None:
        """Write the model file alone, as `chromatic fit` does.

        Parameters
        ----------
        path : str
            Any path that Spark understands.
        """
        files.write_model(SparkSession.active(), self._model, path, names=self._get("names"))

    def write(self) -> MLWriter:
        """Return a writer of a folder in Spark's manner.

        Returns
        -------
        MLWriter
            It writes `metadata`, and the model file.
        """
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader[ChromaticModel]:
        """Return a reader of such a folder, or of a model file alone.

        Returns
        -------
        MLReader
            It reads what `write` and `writeFile` wrote.
        """
        return _ModelReader()


class _ModelWriter(MLWriter):
    def __init__(self, model: ChromaticModel) -> None:
        super().__init__()
        self.model = model

    def save(self, path: str) -> None:
        """Write all beside the path first: what is there stays until the new one is whole."""
        session = self.sparkSession
        with files.replacing(session, path, overwrite=self.shouldOverwrite) as beside:
            DefaultParamsWriter.saveMetadata(self.model, beside, session)
            target = f"{beside}/{MODEL_FILE}"
            files.write_model(session, self.model._model, target, names=self.model._get("names"))


class _ModelReader(MLReader[ChromaticModel]):
    def load(self, path: str) -> ChromaticModel:
        session = self.sparkSession
        if not files.is_folder(session, path):
            return _of_file(files.read_model(session, path))
        read = files.read_model(session, f"{path}/{MODEL_FILE}")
        model = _with_kept(read)
        metadata = DefaultParamsReader.loadMetadata(path, session)
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def _with_kept(read: FittedModel) -> ChromaticModel:
    model = ChromaticModel(read.encoding, read.classes)
    model._kept = read.kept
    return model


def _of_file(read: FittedModel) -> ChromaticModel:
    """Return a model with the parameters of its file; columns have their default names."""
    model = _with_kept(read)
    kept = {one.spark: read.parameters.get(one.python) for one in ON_SPARK}
    return model._set(**{name: value for name, value in kept.items() if value is not None})


def params_of(settings: Settings) -> dict[str, Any]:
    """Return settings by their names in Spark; those that are None stay unset."""
    given = {one.spark: getattr(settings, one.name) for one in ON_SPARK}
    return {name: value for name, value in given.items() if value is not None}
