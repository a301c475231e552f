"""`ChromaticEstimator` and `ChromaticModel`: the manners of pyspark.ml, no algorithm of their own."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, Self

from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasInputCol, HasLabelCol, HasOutputCol, HasSeed
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

from chromatic import modelfile
from chromatic.encoding.fitting import Encoding, Settings
from chromatic.encoding.frequency import FrequencyEncoding
from chromatic.errors import InputError
from chromatic.spark import files
from chromatic.spark.coding import Limits
from chromatic.spark.encoding import Encoder
from chromatic.spark.fitting import Plan, fit, out_of_fold
from chromatic.spark.frames import errors_of_workers

_KIND = {
    bool: TypeConverters.toBoolean,
    int: TypeConverters.toInt,
    float: TypeConverters.toFloat,
    str: TypeConverters.toString,
    object: TypeConverters.identity,
}
MODEL_FILE = "model.chroma"


def _param(name: str, doc: str, kind: type) -> Param[Any]:
    return Param(Params._dummy(), name, doc, typeConverter=_KIND[kind])


class _ChromaticParams(HasInputCol, HasLabelCol, HasOutputCol, HasSeed):
    """The parameters of `ChromaticEncoder` as Spark names them, and those that only Spark needs."""

    budget = _param("budget", "the most output columns, dense ones included", int)
    encoding = _param("encoding", "submodular, target, frequency or identity", str)
    coloring = _param("coloring", "balanced, first-fit, random or uniform", str)
    maxColors = _param("maxColors", "a number, or 'proper'; unset: what suits the budget", object)
    minEdgeCount = _param("minEdgeCount", "pairs of features seen in fewer rows may share a color", int)
    leakage = _param("leakage", "how training rows are encoded: crossfit, split or none", str)
    folds = _param("folds", "of crossfit", int)
    splitRate = _param("splitRate", "of split: 2**-rate of the rows estimate", int)
    smoothing = _param("smoothing", "pseudo-count of the overall rate, or 'auto'", object)
    quantizer = _param("quantizer", "optimal, greedy or sort", str)
    null = _param("null", "drop, or emit a column for an absent color", str)
    minGain = _param("minGain", "nats that a column must tell; unset: ln(rows) / 2", float)
    unestimated = _param("unestimated", "a feature that no row estimates counts as: prior, or null", str)
    denseThreshold = _param("denseThreshold", "features in a larger share of the rows are dense", float)
    minCount = _param("minCount", "sparse features in fewer rows are dropped", int)
    handleUnknown = _param("handleUnknown", "ignore features that training did not have, or error", str)
    names = _param("names", "keep the names of string features", bool)
    orderCol = _param(
        "orderCol",
        "numbers identical rows, for folds; unset: the order in which the frame has its rows",
        str,
    )
    driverMemoryInMB = _param("driverMemoryInMB", "what coloring may take in the driver's Python", int)
    broadcastInMB = _param(
        "broadcastInMB", "a vocabulary that takes more of a Python worker is joined in fit", int
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        local = Settings()
        self._setDefault(
            inputCol="features",
            labelCol="label",
            outputCol="columns",
            denseThreshold=0.1,
            minCount=1,
            handleUnknown="ignore",
            names=True,
            driverMemoryInMB=8192,
            broadcastInMB=1024,
            **{
                _camel(field.name): getattr(local, field.name)
                for field in fields(Settings)
                if getattr(local, field.name) is not None
            },
        )

    def setParams(self, **given: Any) -> Self:
        """Set several parameters by name."""
        return self._set(**given)

    def setInputCol(self, value: str) -> Self:
        return self._set(inputCol=value)

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
    def _plan(self) -> Plan:
        if self._get("handleUnknown") not in ("ignore", "error"):
            raise InputError(f"handleUnknown is {self._get('handleUnknown')!r}; expected ignore or error")
        settings = Settings(**{field.name: self._get(_camel(field.name)) for field in fields(Settings)})
        limits = Limits(self._get("denseThreshold"), self._get("minCount"), self._get("names"))
        return Plan(
            self._get("inputCol"),
            self._get("labelCol"),
            settings,
            limits,
            self._get("orderCol"),
            self._get("driverMemoryInMB") << 20,
            self._get("broadcastInMB") << 20,
        )


class ChromaticEstimator(
    _ChromaticParams,
    Estimator["ChromaticModel"],
    DefaultParamsReadable["ChromaticEstimator"],
    DefaultParamsWritable,
):
    """Learns columns from a frame of features and labels.

    inputCol: array<string>, array<long>, array<struct<name, value>>, map<string, double>, or a vector of
    pyspark.ml, whose column j is the feature j. Parameters are those of `ChromaticEncoder` in Spark's
    spelling; on the same rows, with the same parameters, the encoding is the same.
    """

    _input_kwargs: dict[str, Any]

    @keyword_only
    def __init__(self, **given: Any) -> None:
        super().__init__()
        self._set(**given)

    def _fit(self, dataset: DataFrame) -> ChromaticModel:
        with errors_of_workers():
            encoding = fit(dataset, self._plan)
        return self._copyValues(ChromaticModel(encoding))


class ChromaticModel(_ChromaticParams, Model, MLWritable, MLReadable["ChromaticModel"]):
    """Encodes the features of a frame: sparse vectors or, for frequency and identity, arrays of codes.

    Where codes have dense features beside them, their values are in the column `<outputCol>_dense`.
    """

    def __init__(self, encoding: Encoding | None = None) -> None:
        super().__init__()
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
        names = (self._get(name) for name in ("inputCol", "outputCol", "handleUnknown"))
        return self._encoder.encode(dataset, *names)

    def transformTraining(self, dataset: DataFrame) -> DataFrame:
        """Encode the frame that the model was fitted on without leaking its labels.

        With crossfit, each row by the labels of the other folds; with split, the rows that are left to
        train on; else as `transform` does. Identical rows are numbered by `orderCol`, so give one where
        the order of the frame is not always the same.
        """
        plan, encoding = self._plan, self.encoding_
        if isinstance(encoding, FrequencyEncoding) or plan.settings.leakage == "none":
            return self._transform(dataset)
        tables = None
        if plan.settings.leakage == "crossfit":
            with errors_of_workers():
                tables = out_of_fold(dataset, plan, encoding)
        output = self._get("outputCol")
        return self._encoder.encode_by_fold(dataset, plan.features, output, plan.numbering, tables)

    @property
    def _model(self) -> modelfile.Model:
        plan = self._plan
        parameters = asdict(plan.settings) | {
            "dense_threshold": plan.limits.dense_threshold,
            "min_count": plan.limits.min_count,
            "names": plan.limits.keep_names,
            "handle_unknown": self._get("handleUnknown"),
        }
        parameters["random_state"] = parameters.pop("seed")
        return modelfile.Model(self.encoding_, parameters)

    def writeFile(self, path: str) -> None:
        """Write the model file alone, as `chromatic fit` does, to any path that Spark understands."""
        files.write_model(SparkSession.active(), self._model, path, names=self._get("names"))

    def write(self) -> MLWriter:
        """A writer of a folder in Spark's manner: `metadata`, and the model file."""
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader[ChromaticModel]:
        """A reader of such a folder, or of a model file alone."""
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
        model = ChromaticModel(files.read_model(session, f"{path}/{MODEL_FILE}").encoding)
        metadata = DefaultParamsReader.loadMetadata(path, session)
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def _of_file(read: modelfile.Model) -> ChromaticModel:
    """A model with the parameters of its file; columns have their default names."""
    model = ChromaticModel(read.encoding)
    given = as_params(read.parameters)
    return model._set(**{name: value for name, value in given.items() if model.hasParam(name)})


def as_params(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of `ChromaticEncoder` in Spark's spelling; those that are None stay unset."""
    given = {_camel(name): value for name, value in parameters.items() if value is not None}
    return {"seed": given.pop("randomState", 0), **given}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
