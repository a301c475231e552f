"""From colors to columns."""

from chromatic.encoding.quantize import Groups, Quantization, quantize
from chromatic.encoding.submodular import Codebook, learn_codebook

__all__ = ["Codebook", "Groups", "Quantization", "learn_codebook", "quantize"]
