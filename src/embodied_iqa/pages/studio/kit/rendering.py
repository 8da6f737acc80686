"""Templates of the studio: one environment, with the number formats of the reports."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from functools import cache
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup

from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.pages.reports.kit.formatting import clean_text, distortion_label
from embodied_iqa.pages.reports.kit.render import make_environment


def fill(template: str, **values: object) -> str:
    """Fill a template of the studio or of the reports; values are escaped."""
    return clean_text(_environment().get_template(template).render(values))


def path_segment(text: str) -> Markup:
    """Return a text as one segment of an address."""
    return Markup(quote(text, safe=""))  # noqa: S704 - quoting leaves no character that HTML escapes


def doubled(values: Iterable[str]) -> list[tuple[str, str]]:
    """Return options of a choice whose values are their own labels."""
    return [(value, value) for value in values]


def labelled(distortions: Iterable[str]) -> list[tuple[str, str]]:
    """Return options of a choice of distortions: number and label."""
    return [(number, distortion_label(number)) for number in distortions]


def utc_text(stamp_ns: int) -> str:
    """Return a time in UTC, to the second."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(stamp_ns // SECOND_NS))


def spaced(name: str) -> str:
    """Return the name of a class as words: `WriteTasks` is "Write tasks"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).capitalize()


@cache
def _environment() -> Environment:
    environment = make_environment("embodied_iqa.pages.studio", "embodied_iqa.pages.reports")
    environment.filters |= {"segment": path_segment, "distortion_label": distortion_label}
    environment.filters |= {"doubled": doubled, "labelled": labelled, "utc": utc_text, "spaced": spaced}
    return environment
