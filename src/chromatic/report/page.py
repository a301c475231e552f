"""`report`: a model, and what test rows show of it, on one page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from importlib import resources

import chromatic
from chromatic.data.rows import Rows
from chromatic.model import Model
from chromatic.report import sections
from chromatic.report.calibration import calibration
from chromatic.report.contents import Subject, as_json, embedded
from chromatic.report.observed import observe


def report(model: Model, rows: Rows | None = None, *, name: str = "model", threads: int = 1) -> str:
    """The page as HTML; `rows` are test rows that the model's vocabulary codes."""
    observed = None if rows is None else observe(model.encoding, rows, threads)
    subject = Subject(name, model, observed)
    data = embedded(subject)
    n_listed = len(data["columns"]["number"])
    parts = (
        ("data", "The data", sections.glance(subject)),
        ("colors", "Colors", sections.colors(subject)),
        ("information", "Information", sections.budget(subject)),
        ("look-up", "Look a feature up", sections.lookup(subject)),
        ("columns", "Columns", sections.columns(subject, n_listed)),
        ("lost", "Lost to collisions", sections.lost(subject)),
        ("calibration", "Calibration", calibration(subject)),
    )
    links = "".join(f'<a href="#{id_}">{title}</a>' for id_, title, _ in parts)
    script = _resource("page.js")
    return _filled(
        _resource("page.html"),
        {
            "title": escape(f"chromatic report: {name}"),
            "style": _resource("page.css"),
            "header": sections.header(subject),
            "navigation": f"<div>{links}</div>",
            "sections": "\n".join(
                f'<section id="{id_}"><h2>{title}</h2>{html}</section>' for id_, title, html in parts
            ),
            "footer": _footer(len(data["features"]["name"]), len(model.encoding.vocabulary)),
            "data": as_json(data),
            "script": script,
            "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        },
    )


def _footer(n_shown: int, n_features: int) -> str:
    which = (
        f"It knows all {n_features:,} sparse features."
        if n_shown == n_features
        else f"Search and look-up know {n_shown:,} of the {n_features:,} sparse features: the first of "
        "each column, those most lost, and the most frequent. <code>chromatic inspect</code> knows all."
    )
    made = f"Made by chromatic {chromatic.__version__}. This page loads nothing from elsewhere."
    return f"<p>{made} {which}</p>"


def _filled(template: str, values: dict[str, str]) -> str:
    """The template with its marks replaced, in one go: what a value contains is never a mark."""
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: values[mark[1]], template)


def _resource(name: str) -> str:
    return resources.files("chromatic.report").joinpath(name).read_text(encoding="utf-8")
