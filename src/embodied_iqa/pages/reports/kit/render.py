"""Fills the templates: one Jinja environment and one style sheet for all reports."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from embodied_iqa import __version__
from embodied_iqa.pages.reports.kit.formatting import clean_text, distortion_name, number, seconds, share
from embodied_iqa.pages.reports.kit.page import Page
from embodied_iqa.pages.reports.kit.table import cell_text, heat_class
from embodied_iqa.runs.trial.scores import RECIPES


def render_page(template: str, page: Page) -> str:
    """Return a page that contains everything it needs; templates extend `page.html.j2`."""
    css = files("embodied_iqa.pages.reports").joinpath("templates", "report.css").read_text(encoding="utf-8")
    return clean_text(render(template, page=page, css=Markup(css)))  # noqa: S704 - a file of the package


def render(template: str, **values: object) -> str:
    """Fill a template; values are escaped in HTML and SVG."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    return make_environment("embodied_iqa.pages.reports")


def make_environment(*packages: str) -> Environment:
    """Return an environment with the filters of all reports; templates of the first package come first."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=select_autoescape(("html.j2", "svg.j2")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cell": cell_text, "distortion_name": distortion_name, "heat": heat_class}
    environment.filters |= {"number": number, "seconds": seconds, "share": share}
    environment.globals |= {"generator": f"embodied-iqa {__version__}", "recipes": RECIPES}
    return environment
