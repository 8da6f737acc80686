"""Paragraphs and tables of reports as Markdown, wrapped as the pages of the documentation."""

from __future__ import annotations

import textwrap
from typing import Final

from embodied_iqa.pages.reports.kit.table import Table

_LONG: Final = 12
"""Tables with more rows are folded."""
_WIDTH: Final = 100


def prose(text: str, *, indent: str = "") -> str:
    """Return a wrapped paragraph; further lines begin with an indent."""
    return textwrap.fill(
        text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def titled_table(table: Table) -> str:
    """Return a table below its title and note; a long one is folded."""
    if len(table.rows) <= _LONG and not table.folded:
        return f"{prose(f'**{table.title}.** {table.note}'.rstrip())}\n\n{table.markdown()}"
    body = "\n\n".join(filter(None, [prose(table.note), table.markdown()]))
    return f"<details><summary>{table.title}</summary>\n\n{body}\n\n</details>"
