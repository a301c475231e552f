"""What has moved between the rows that a model was fitted on and new rows."""

from chromatic.drift.compare import drift
from chromatic.drift.findings import Drift

__all__ = ["Drift", "drift"]
