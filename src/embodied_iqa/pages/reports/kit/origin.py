"""The last line of a page of results: version, commit and date of what wrote its numbers."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from embodied_iqa import __version__
from embodied_iqa.base.resources import source_checkout
from embodied_iqa.runs.trial.run_folder import commit_and_date

RESULTS: Final = "docs/results"
"""Folder of a checkout with the pages: to write one does not change what is measured."""
_CITATION: Final = "docs/README.md"
_LINE: Final = re.compile(r"^Numbers: version [^\r\n]*(?=\s*\Z)", re.MULTILINE)


def origin_line(page: Path) -> str:
    """Return the last line of a page whose numbers are written now; what is not known is said to be unknown.

    Args:
        page: In the documentation of the checkout, it gets a link to how numbers are cited.
    """
    commit, date = commit_and_date(besides=RESULTS)
    line = f"Numbers: version {__version__}, commit {commit or 'unknown'}, {date or 'date unknown'}."
    root = source_checkout()
    if root is None or not page.resolve().is_relative_to(root / "docs"):
        return line
    link = Path(os.path.relpath(root / _CITATION, page.resolve().parent)).as_posix()
    return f"{line} [How to cite]({link}#how-to-cite)."


def with_origin(text: str, former: str, page: Path) -> str:
    """Return the text of a page with the line of numbers that are written now.

    A text without the line, or with the numbers of the former text, stays as it is.
    """
    return text if text == former else _LINE.sub(lambda _: origin_line(page), text)
