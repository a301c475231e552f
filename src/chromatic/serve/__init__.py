"""A model behind HTTP: rows in JSON in, columns or scores out; and the file of a linear model for it."""

from __future__ import annotations

from chromatic.serve.learner import Learner, load_learner, save_learner

__all__ = ["Learner", "load_learner", "save_learner"]
