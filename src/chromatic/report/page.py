"""`report`: a model, and what test rows show of it, on one page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib

from markupsafe import Markup

from chromatic.data.rows import Rows
from chromatic.model import Model
from chromatic.report import sections
from chromatic.report.calibration import calibration
from chromatic.report.classes import by_class, classes
from chromatic.report.contents import as_json, embedded
from chromatic.report.linear import linear
from chromatic.report.observed import observe
from chromatic.report.render import Section, rendered, resource
from chromatic.report.subject import Subject


def report(model: Model, rows: Rows | None = None, *, name: str = "model", threads: int = 1) -> str:
    """Return the page as HTML; `rows` are test rows that the model's vocabulary codes."""
    observed = None if rows is None else observe(model.encoding, rows, threads)
    subject = Subject(name, model, observed)
    contents = embedded(subject)
    n_listed = len(contents["columns"]["number"])
    script = resource("page.js")
    return rendered(
        "page.html",
        name=name,
        header=sections.header(subject),
        sections=[
            Section("data", "The data", sections.data(subject)),
            Section("colors", "Colors", sections.colors(subject)),
            *([Section("classes", "Classes", classes(subject))] if len(subject.parts) > 1 else []),
            Section("information", "Information", by_class(subject, sections.budget)),
            Section("look-up", "Look a feature up", sections.lookup(subject)),
            Section("columns", "Columns", sections.columns(subject, n_listed)),
            Section("linear", "Linear columns", by_class(subject, linear)),
            Section("collisions", "Collisions", sections.collisions(subject)),
            Section("calibration", "Calibration", by_class(subject, calibration)),
        ],
        n_shown=len(contents["features"]["name"]),
        n_features=len(model.encoding.vocabulary),
        # These two are not escaped: a file of this package, and JSON that is safe in a script.
        script=Markup(script),
        contents=as_json(contents),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
