"""One fit, from training rows wherever they are to a model."""

from chromatic.fitting.fit import Fitted, fit
from chromatic.fitting.source import Source
from chromatic.fitting.sources import DiskSource, LocalSource, MemorySource

__all__ = ["DiskSource", "Fitted", "LocalSource", "MemorySource", "Source", "fit"]
