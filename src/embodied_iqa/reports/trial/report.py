"""`report.html`: a trial run on one page that needs nothing but a browser."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from embodied_iqa.errors import InputError
from embodied_iqa.reports.kit.formatting import clean_text, number
from embodied_iqa.reports.trial.page import build_page
from embodied_iqa.reports.trial.report_input import ReportedTask, RunContext

__all__ = ["ReportedTask", "RunContext", "write_report"]


def write_report(tasks: Sequence[ReportedTask], out: Path, context: RunContext) -> None:
    """Write the report of a trial run, whole or not at all.

    The page holds everything it needs: styles and pictures are in it, scripts there are none. What a
    recording lacks is told in its place.

    Args:
        tasks: What was run, in the order of the page.
        out: The HTML file; its folder is made where needed.
        context: Where the results come from.

    Raises:
        InputError: The file cannot be written.
    """
    page = build_page(tasks, out.parent, context)
    html = clean_text(_environment().get_template("report.html.j2").render(page=page, css=_css()))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=".report-") as folder:
            whole = Path(folder) / out.name
            whole.write_text(html, encoding="utf-8")
            whole.replace(out)
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror}") from error


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("embodied_iqa.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment


def _css() -> Markup:
    text = files("embodied_iqa.reports").joinpath("templates", "report.css").read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - our own file
