"""What the rows of a frame tell of dense columns, where a budget has no room for all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from chromatic.data.dense import Agreement, DenseFacts, Floats, Integers, Spans
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.spark.columns import batch_of, dense_alone
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

        def facts(rows: Rows, _: Floats) -> list[list[int]]:
            some = DenseFacts.of(rows, n_dense)
            return [some.counts.tolist(), some.others.tolist()]

        counts, others = zip(*self._of_parts(facts), strict=True)
        return DenseFacts(np.sum(counts, axis=0), np.sum(others, axis=0))

    def telling(self, columns: Integers) -> Floats:
        """Return how much some dense columns tell of the label, of several classes the most of any."""

        def ends(rows: Rows, labels: Floats) -> list[list[float]]:
            some = Spans.of(rows, columns)
            return [[*some.low.tolist(), labels.min()], [*some.high.tolist(), labels.max()]]

        lows, highs = zip(*self._of_parts(ends), strict=True)
        low, high = np.min(lows, axis=0), np.max(highs, axis=0)
        spans, of_labels, classes = Spans(low[:-1], high[:-1]), (low[-1], high[-1]), self.classes

        def agreements(rows: Rows, labels: Floats) -> list[tuple[int, list[Any], list[Any]]]:
            given = [
                (labels, of_labels) if one is None else (1.0 * (labels == one), (0.0, 1.0))
                for one in classes
            ]
            each = [
                Agreement.of(rows, some, columns, spans._replace(of_labels=ends)) for some, ends in given
            ]
            return [(one.n_rows, one.of_columns.tolist(), one.of_labels.tolist()) for one in each]

        of_class = []
        for told in zip(*self._of_parts(agreements), strict=True):
            parts = (Agreement(n, np.array(x, object), np.array(y, object)) for n, x, y in told)
            of_class.append(reduce(Agreement.__add__, parts).correlations())
        return np.asarray(np.max(of_class, axis=0))

    def _of_parts(self, tell: Callable[[Rows, Floats], Any]) -> list[Any]:
        """Return what a function tells of each batch of rows and labels, in numbers and lists of them."""
        vocabulary = self.vocabulary
        # Rows are read for their dense columns alone, so that no worker needs the sparse features.
        few = dense_alone(vocabulary)

        def told(batches: Batches) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                if batch.num_rows:
                    rows = few.encode([batch_of(batch.column(0), few.schema)])
                    labels = np.array(batch.column(1).to_numpy(zero_copy_only=False), np.float64)
                    parts = pa.array([json.dumps(tell(rows, labels))])
                    yield pa.RecordBatch.from_arrays([parts], ["told"])

        made = self.frame.mapInArrow(told, "told string")
        return [json.loads(row["told"]) for row in made.toLocalIterator()]
