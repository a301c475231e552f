"""Colors without a graph: features that share no row may share a color."""

from chromatic.coloring.certificate import Certificate, certify
from chromatic.coloring.collisions import Collisions, collisions, represent
from chromatic.coloring.greedy import Coloring, color
from chromatic.data.transpose import Columns, transpose

__all__ = [
    "Certificate",
    "Collisions",
    "Coloring",
    "Columns",
    "certify",
    "collisions",
    "color",
    "represent",
    "transpose",
]
