"""axe-core in an open page: rules of WCAG 2.1 at levels A and AA, and the best practices of axe-core."""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from chromium_pipe import Browser, executable

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice")
LOOKS = ((420, "dark"), (1280, "light"))
"""Widths [px] and a colour scheme each: schemes change only colours, and no colour follows the width."""
OTHER_LOOKS = ((420, "light"), (1280, "dark"))
_MODULE = "axe_playwright_python"


@cache
def axe_file() -> Path | None:
    """The script in the pinned package, or None; the package is not imported: it wants Playwright."""
    spec = find_spec(_MODULE)
    folders = (spec.submodule_search_locations if spec else None) or ()
    return next((file for folder in folders if (file := Path(folder) / "axe.min.js").is_file()), None)


needs_axe = pytest.mark.skipif(
    executable() is None or axe_file() is None,
    reason="needs a browser (apt-get install chromium) and axe-core (requirements/alone.txt: make setup)",
)


def axe_violations(browser: Browser) -> list[str]:
    """The violations of the open page: a line for each element, with its rule and what axe-core says."""
    file = axe_file()
    assert file is not None
    if not browser.value("Boolean(window.axe)"):
        browser.value(f"(() => {{ {file.read_text(encoding='utf-8')}\n return 1; }})()")
    options = {"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]}
    found: dict[str, Any] = browser.value(f"axe.run(document, {json.dumps(options)})")
    assert found["passes"], "axe-core has checked something"
    return [
        f"{rule['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def violations_of_a_look(browser: Browser, width_px: int, scheme: str) -> list[str]:
    """The violations of the open page in one look, with everything unfolded."""
    browser.value(
        "for (const item of document.querySelectorAll('details:not([data-load])')) item.open = true"
    )
    browser.size(width_px, scheme)
    return [f"{width_px} px, {scheme}: {line}" for line in axe_violations(browser)]


def report_violations(browser: Browser, page: Path) -> list[str]:
    """The violations of a report, narrow and wide, light and dark."""
    found = []
    for look in LOOKS:
        browser.show(page, *look)
        found += violations_of_a_look(browser, *look)
    return found
