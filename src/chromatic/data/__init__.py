"""Rows in and out: one fast, exact way from any sparse data to `Rows`."""

from chromatic.data.batch import Batch
from chromatic.data.reader import FORMATS, Dataset, Reader
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.data.writers import write

__all__ = ["FORMATS", "Batch", "Dataset", "Reader", "Rows", "Vocabulary", "write"]
