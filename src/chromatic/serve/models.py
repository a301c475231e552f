"""The model that is served, with its learner: loaded anew, as one, when a file was replaced."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from datetime import UTC, datetime

from chromatic._files import is_stream
from chromatic._log import log
from chromatic._room import is_lack_of_memory
from chromatic.encoder import ChromaticEncoder, load
from chromatic.errors import MEMORY_RAN_OUT, InputError
from chromatic.serve.learner import Learner, load_learner

Signature = tuple[int, int, int]  # of a file: when it was written, its size, its number


@dataclass(frozen=True)
class Loaded:
    """A model and its learner, which fit each other."""

    encoder: ChromaticEncoder
    learner: Learner | None
    when: datetime

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.encoder.n_columns_


class Models:
    """The model that requests take; another takes its place only when it was loaded as a whole."""

    def __init__(self, model: str, learner: str | None = None) -> None:
        self.model, self.learner = model, learner
        for path in (model, learner):
            if path is not None and is_stream(path):
                raise InputError(f"{path}: can be read only once; expected a file, which may be replaced")
        self.last_error: str | None = None
        self._seen = self._signatures()
        self.current = self._load()

    def refresh(self) -> bool | None:
        """Load files that were replaced; False: refused, and the old ones stay; None: none were replaced.

        A model and a learner that do not fit each other are refused until the other is replaced too.
        """
        found = self._signatures()
        if found == self._seen:
            return None
        self._seen = found
        try:
            self.current = self._load()
        except (InputError, OSError, MemoryError) as error:
            self.last_error = MEMORY_RAN_OUT if is_lack_of_memory(error) else str(error)
            log.warning("%s; what was loaded before stays", self.last_error)
            return False
        self.last_error = None
        log.info("%s: loaded, %d columns", self.model, self.current.n_columns)
        return True

    def _load(self) -> Loaded:
        encoder = load(self.model)
        learner = None
        if self.learner is not None:
            learner = load_learner(self.learner)
            learner.check_fits(encoder.n_columns_, self.learner)
        for row in ([], ["\0"]):  # makes tables and loads kernels, so that the first request does not wait
            with contextlib.suppress(ValueError):  # of a row that the model does not take
                encoder.encode_sparse(row)
        return Loaded(encoder, learner, datetime.now(UTC))

    def _signatures(self) -> list[Signature | None]:
        return [_signature(path) for path in (self.model, self.learner) if path is not None]


def _signature(path: str) -> Signature | None:
    """Return what changes where a file is replaced; None where there is none."""
    try:
        told = os.stat(path)
    except OSError:
        return None
    return told.st_mtime_ns, told.st_size, told.st_ino
