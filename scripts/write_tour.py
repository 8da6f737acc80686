"""Writes docs/tour.md: examples/tour.ipynb, executed, with what its cells show."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.pages.reports.kit.markdown import prose

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "examples/tour.ipynb"
PAGE = ROOT / "docs/tour.md"
_NOTE = (
    "This page is the executed notebook [tour.ipynb](../examples/tour.ipynb); "
    "it runs in any Jupyter whose kernel is the Python of `.venv`."
)


def cells() -> list[tuple[str, str]]:
    """Return kind and source of each cell."""
    found = load_json(NOTEBOOK, "the notebook")["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in found]


def page_without_outputs() -> list[str]:
    """Return the parts of the page that do not depend on a run: texts and code."""
    first, *others = [_shown(kind, source) for kind, source in cells()]
    return [first, prose(_NOTE), *others]


def _shown(kind: str, source: str) -> str:
    if kind == "code":
        return f"```python\n{source}\n```"
    return "\n\n".join(part if part.startswith("#") else prose(part) for part in source.split("\n\n"))


def _value(source: str, names: dict[str, Any]) -> Any:
    """Execute a cell; return the value of its last line where that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(NOTEBOOK), "exec"), names)  # noqa: S102 - our own notebook
    return eval(ast.unparse(last), names) if last else None  # noqa: S307 - our own notebook


def _outputs() -> Iterator[str]:
    """What each cell shows: an image, a value, or nothing."""
    names: dict[str, Any] = {}
    for number, (kind, source) in enumerate(cells()):
        value = _value(source, names) if kind == "code" else None
        if isinstance(value, Image.Image):
            file = PAGE.parent / f"images/tour-{number}.webp"
            value.save(file, quality=80, method=6)
            yield f"![Image that the cell shows]({file.relative_to(PAGE.parent).as_posix()})"
        else:
            yield "" if value is None else f"```text\n{value!r}\n```"


def main() -> None:
    """Execute the notebook and write the page."""
    outputs = list(_outputs())
    outputs.insert(1, "")  # of the note
    parts = [part for pair in zip(page_without_outputs(), outputs, strict=True) for part in pair if part]
    write_text_whole(PAGE, "\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
