"""How pages are made: templates, and files of this package that stand in the page."""

from __future__ import annotations

from importlib import resources
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import chromatic
from chromatic.report.filters import FILTERS


class Section(NamedTuple):
    """A part of a page that the navigation links to."""

    id: str
    title: str
    content: Any  # plain values, with the name of the template that shows them


def rendered(template: str, **values: Any) -> str:
    """Return the page of a template; whatever it shows is escaped, but for the style sheet."""
    environment = Environment(
        loader=PackageLoader("chromatic.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= FILTERS
    style = Markup(resource("page.css"))
    return environment.get_template(template).render(style=style, version=chromatic.__version__, **values)


def resource(name: str) -> str:
    """Return a file of this package as text."""
    return resources.files("chromatic.report").joinpath(name).read_text(encoding="utf-8")
