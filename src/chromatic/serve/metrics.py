"""What a server counts, in the text format of Prometheus."""

from __future__ import annotations

from threading import Lock

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class Metrics:
    """Requests, rows, features and loads, of one server."""

    def __init__(self) -> None:
        disable_created_metrics()  # a line more for each counter: when it began
        self._all = CollectorRegistry()
        self._requests = Counter(
            "chromatic_requests", "Requests that were answered.", ["path", "status"], registry=self._all
        )
        self._seconds = Histogram(
            "chromatic_request_seconds",
            "Seconds from a request's head to its answer.",
            ["path"],
            buckets=SECONDS,
            registry=self._all,
        )
        self._rows = Counter("chromatic_rows", "Rows that were encoded.", registry=self._all)
        self._features = Counter("chromatic_features", "Features of these rows.", registry=self._all)
        self._unseen = Counter(
            "chromatic_unseen_features", "Features that were not in training.", registry=self._all
        )
        self._share = Gauge(
            "chromatic_unseen_feature_share", "The share of unseen features.", registry=self._all
        )
        self._loads = Counter(
            "chromatic_reloads",
            "Replaced files that were loaded, or refused.",
            ["result"],
            registry=self._all,
        )
        self._counted = (0, 0)
        self._one_at_a_time = Lock()

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def encoded(self, rows: int, features: int, unseen: int) -> None:
        """Count rows, and the features of which they are made."""
        self._rows.inc(rows)
        self._features.inc(features)
        self._unseen.inc(unseen)
        with self._one_at_a_time:
            every, not_seen = self._counted = self._counted[0] + features, self._counted[1] + unseen
            self._share.set(not_seen / max(1, every))

    def reloaded(self, done: bool) -> None:
        """Count files that were replaced."""
        self._loads.labels("loaded" if done else "refused").inc()

    def text(self) -> bytes:
        """Return all of it as Prometheus reads it."""
        return generate_latest(self._all)
