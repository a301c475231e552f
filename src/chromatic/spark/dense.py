"""What the rows of a frame tell of dense columns, where a budget has no room for all of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from chromatic.data.dense import Agreement, DenseFacts, Floats, Integers, Spans
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.spark.columns import batch_of
from chromatic.spark.frames import Batches


@dataclass(frozen=True)
class DenseRows:
    """A frame of features and labels; a few numbers of each partition travel, and none of its rows."""

    frame: DataFrame  # features, label
    vocabulary: Vocabulary
    classes: tuple[int | None, ...]  # the numbers of several classes, or None alone

    def facts(self) -> DenseFacts:
        """Look over the dense columns of all rows."""
        n_dense = len(self.vocabulary.dense_names)
        parts = self._of_parts(lambda rows, _: DenseFacts.of(rows, n_dense))
        return DenseFacts(
            *(sum(some) for some in zip(*((one.counts, one.others) for one in parts), strict=True))
        )

    def telling(self, columns: Integers) -> Floats:
        """Return how much some dense columns tell of the label, of several classes the most of any."""
        spans = reduce(Spans.merged, self._of_parts(lambda rows, _: Spans.of(rows, columns)))
        labels = self._of_parts(lambda _, labels: (labels.min(), labels.max()))
        ends = min(low for low, _ in labels), max(high for _, high in labels)
        classes = self.classes

        def agreements(rows: Rows, labels: Floats) -> list[Agreement]:
            each = [
                (labels, ends) if one is None else (1.0 * (labels == one), (0.0, 1.0)) for one in classes
            ]
            return [
                Agreement.of(rows, some, columns, spans._replace(of_labels=those)) for some, those in each
            ]

        parts = self._of_parts(agreements)
        of_class = [reduce(Agreement.__add__, some).correlations() for some in zip(*parts, strict=True)]
        return np.asarray(np.max(of_class, axis=0))

    def _of_parts(self, tell: Callable[[Rows, Floats], Any]) -> list[Any]:
        """Return what a function tells of each batch of rows, with their labels."""
        vocabulary = self.vocabulary
        # Rows are read for their dense columns alone, so that no worker needs the sparse features.
        few = replace(vocabulary, names=None, keys=vocabulary.keys[:0], counts=vocabulary.counts[:0])

        def told(batches: Batches) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                if batch.num_rows:
                    rows = few.encode([batch_of(batch.column(0), few.schema)])
                    labels = np.array(batch.column(1).to_numpy(zero_copy_only=False), np.float64)
                    parts = pa.array([pickle.dumps(tell(rows, labels))], pa.binary())
                    yield pa.RecordBatch.from_arrays([parts], ["told"])

        made = self.frame.mapInArrow(told, "told binary")
        return [pickle.loads(bytes(row["told"])) for row in made.toLocalIterator()]
