"""Colors: features that share no row may share a color."""

from chromatic.coloring.certificate import Certificate, certify
from chromatic.coloring.choose import color
from chromatic.coloring.collisions import Collisions, collisions, represent
from chromatic.coloring.coloring import Coloring
from chromatic.coloring.extend import extend
from chromatic.coloring.request import BALANCED, MOST_COLORS, STRATEGIES, Request, Size, palette_with
from chromatic.coloring.sample import color_sample
from chromatic.data.transpose import Transposed, transpose

__all__ = [
    "BALANCED",
    "MOST_COLORS",
    "STRATEGIES",
    "Certificate",
    "Collisions",
    "Coloring",
    "Request",
    "Size",
    "Transposed",
    "certify",
    "collisions",
    "color",
    "color_sample",
    "extend",
    "palette_with",
    "represent",
    "transpose",
]
