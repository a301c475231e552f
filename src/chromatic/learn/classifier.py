"""The networks in scikit-learn's manners."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from chromatic._extras import optional
from chromatic._files import replacing
from chromatic.encoding.encoded import Encoded
from chromatic.errors import InputError, in_file
from chromatic.learn.inputs import Inputs, Layout

VERSION = 1


class NetworkClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A network on encoded rows: one-hot columns, columns with values, or codes with their `field_dims`.

    X is a scipy matrix or an array. With `field_dims` its first columns are codes, 0 where a field is
    absent, and those after them are numbers.

    >>> x = np.eye(4, dtype=np.float32)[np.arange(400) % 4]
    >>> network = NetworkClassifier("fm", epochs=20, batch_size=32, learning_rate=0.05)
    >>> network.fit(x, np.arange(400) % 4 > 1).predict(np.eye(4)).tolist()
    [False, False, True, True]
    """

    def __init__(
        self,
        architecture: str = "wd",
        *,
        embedding: int | None = None,
        hidden: tuple[int, ...] | None = None,
        dropout: float = 0.2,
        field_dims: Any = None,
        epochs: int = 5,
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-6,
        updates: str = "auto",
        patience: int | None = None,
        validation: float = 0.1,
        checkpoint: str | None = None,
        device: str = "cpu",
        n_jobs: int = 1,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.architecture = architecture
        self.embedding = embedding
        self.hidden = hidden
        self.dropout = dropout
        self.field_dims = field_dims
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.updates = updates
        self.patience = patience
        self.validation = validation
        self.checkpoint = checkpoint
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any) -> NetworkClassifier:
        """Train on rows and labels of two kinds."""
        optional("torch")
        from chromatic.learn import training

        if y is None:
            raise InputError("requires y to be passed, but the target y is None")
        encoded, y = self._validated(X, y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        self._check_labels(y)
        self.layout_ = Layout.of(encoded, self._dims())
        inputs = self.layout_.inputs(encoded)
        how = training.Training(
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            patience=self.patience,
            validation=self.validation,
            seed=self._seed(),
        )
        with training.seeded(how.seed, 0), training.threads(self.n_jobs):
            self.network_ = self._network(len(inputs.index) / max(1, inputs.n_rows))
            self.network_.start_at(labels.mean())
            rows = how.epochs * inputs.n_rows
            with training.progress_bar(self.architecture, rows, self.verbose > 0) as show:
                told = training.train(
                    self.network_,
                    inputs,
                    labels.astype(np.float32),
                    how,
                    checkpoint=self.checkpoint,
                    show=show,
                )
        self.n_iter_, self.losses_, self.held_out_losses_ = told.epoch, told.losses, told.held_out
        self.n_parameters_ = self.network_.n_parameters
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The probabilities of both classes."""
        check_is_fitted(self)
        from chromatic.learn import training

        inputs: Inputs = self.layout_.inputs(self._validated(X))
        with training.threads(self.n_jobs):
            positive = training.predict(self.network_, inputs)
        return np.column_stack((1 - positive, positive))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The more probable class of each row."""
        check_is_fitted(self)
        classes: npt.NDArray[Any] = self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(np.int64)]
        return classes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write parameters, layout and numbers to one safetensors file."""
        check_is_fitted(self)
        from safetensors.torch import save

        facts = {
            "version": VERSION,
            "parameters": self.get_params() | {"field_dims": self.layout_.field_dims, "checkpoint": None},
            "layout": [self.layout_.n_columns, self.layout_.field_dims, self.layout_.scales],
            "classes": self.classes_.tolist(),
            "classes_dtype": self.classes_.dtype.str,
            "n_features_in": self.n_features_in_,
        }
        tensors = {name: tensor.cpu().clone() for name, tensor in self.network_.state_dict().items()}
        data = save(tensors, {"chromatic": json.dumps(facts, sort_keys=True)})
        with replacing(path) as file:
            file.write(data)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "cpu") -> NetworkClassifier:
        """Read a classifier that `save` wrote."""
        optional("torch")
        from safetensors import SafetensorError, safe_open

        path = os.fspath(path)
        try:
            with safe_open(path, framework="pt") as file:
                facts = json.loads((file.metadata() or {})["chromatic"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if facts["version"] != VERSION:
                raise in_file(path, None, f"is of version {facts['version']}; expected {VERSION}")
            told = facts["parameters"] | {"device": device}
            told["hidden"] = None if told["hidden"] is None else tuple(told["hidden"])
            made = cls(**told)
            n_columns, dims, scales = facts["layout"]
            made.layout_ = Layout(n_columns, None if dims is None else tuple(dims), tuple(scales))
            made.classes_ = np.array(facts["classes"], facts["classes_dtype"])
            made.n_features_in_ = int(facts["n_features_in"])
            made.network_ = made._network()
            made.network_.load_state_dict(tensors)
            made.n_parameters_ = made.network_.n_parameters
        except FileNotFoundError as error:
            raise in_file(path, None, "no such file; check the path") from error
        except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError, OSError) as error:
            if isinstance(error, InputError):
                raise
            raise in_file(
                path, None, f"is no saved network ({error}); expected one that save wrote"
            ) from error
        return made

    def _network(self, entries_per_row: float = 1.0) -> Any:
        from chromatic.learn.networks import Network, architecture, device_of

        if self.updates not in ("auto", "dense", "lazy"):
            raise InputError(f"updates is {self.updates!r}; expected auto, dense or lazy")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout is {self.dropout}; expected 0 or more, and below 1")
        device = device_of(self.device)
        network = Network(
            architecture(self.architecture, self.embedding, self.hidden),
            self.layout_.fields,
            self.layout_.n_fields,
            dropout=self.dropout,
            entries_per_row=entries_per_row,
            updates=self.updates,
        )
        return network.to(device)

    def _validated(self, X: Any, y: Any = None) -> Any:
        """X as encoded rows, and y if it is given."""
        if isinstance(X, Encoded):
            if y is None:
                return X
            self.n_features_in_ = X.n_columns
            return X, np.asarray(y)
        from scipy.sparse import csr_array, issparse

        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float32, np.float64]}
        if y is None:
            X = validate_data(self, X, reset=False, **options)
        else:
            X, y = validate_data(self, X, y, **options)
        n_fields = self._n_sparse(X, issparse(X)) if y is not None else self.layout_.n_sparse_columns
        sparse = csr_array(X[:, :n_fields])
        sparse.sum_duplicates()
        sparse.eliminate_zeros()
        rest = X[:, n_fields:]
        encoded = Encoded(
            sparse.indptr.astype(np.int64),
            sparse.indices.astype(np.int32),
            sparse.data,
            n_fields,
            rest.toarray() if issparse(rest) else rest,
        )
        return encoded if y is None else (encoded, y)

    def _n_sparse(self, X: Any, is_sparse: bool) -> int:
        """How many of the columns are codes or columns of their own; the others are numbers."""
        dims = self._dims()
        if dims is None:
            return int(X.shape[1]) if is_sparse else 0
        if len(dims) > X.shape[1]:
            raise InputError(f"{X.shape[1]} columns and {len(dims)} field_dims; expected as many, or fewer")
        return len(dims)

    def _dims(self) -> npt.NDArray[np.int64] | None:
        return None if self.field_dims is None else np.asarray(self.field_dims, np.int64)

    def _check_labels(self, y: Any) -> None:
        check_classification_targets(y)
        if len(self.classes_) > 2:
            raise InputError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}, of {len(self.classes_)} classes; expected two"
            )
        if len(self.classes_) < 2:
            raise InputError("all labels are of one class; expected rows of both classes")

    def _seed(self) -> int:
        if self.random_state is None:
            return int(np.random.SeedSequence().generate_state(1)[0])
        if isinstance(self.random_state, np.random.RandomState):
            return int(self.random_state.randint(1 << 31))
        return int(self.random_state)
