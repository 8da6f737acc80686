"""Executes the notebooks of examples/: writes what their cells show into them and into a page of docs/."""

from __future__ import annotations

import ast
import base64
import io
import json
from pathlib import Path
from typing import Any

from PIL import Image

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.pages.reports.kit.markdown import prose

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
_NOTE = (
    "This page is the executed notebook [{name}](../examples/{name}); "
    "it runs in any Jupyter whose kernel is the Python of `.venv` (`.venv/bin/pip install ipykernel`)."
)


def page_of(notebook: Path) -> Path:
    """Return the page that shows a notebook."""
    return DOCS / f"{notebook.stem}.md"


def cells(notebook: Path) -> list[dict[str, Any]]:
    """Return the cells of a notebook, each with its source as one text."""
    found = load_json(notebook, "the notebook")["cells"]
    return [{**cell, "source": "".join(cell["source"])} for cell in found]


def page_without_outputs(notebook: Path) -> list[str]:
    """Return the parts of the page that do not depend on a run: texts and code."""
    first, *others = [_shown(cell["cell_type"], cell["source"]) for cell in cells(notebook)]
    return [first, prose(_NOTE.format(name=notebook.name)), *others]


def _shown(kind: str, source: str) -> str:
    if kind == "code":
        return f"```python\n{source}\n```"
    return "\n\n".join(part if part.startswith("#") else prose(part) for part in source.split("\n\n"))


def _value(source: str, names: dict[str, Any], notebook: Path) -> Any:
    """Execute a cell; return the value of its last line where that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(notebook), "exec"), names)  # noqa: S102 - our own notebook
    return eval(ast.unparse(last), names) if last else None  # noqa: S307 - our own notebook


def _on_page(value: Any, number: int, page: Path) -> str:
    """Return what a page shows of the value of a cell: an image, a text, or nothing."""
    if not isinstance(value, Image.Image):
        return "" if value is None else f"```text\n{value!r}\n```"
    file = page.parent / f"images/{page.stem}-{number}.webp"
    value.save(file, quality=80, method=6)
    return f"![Output of the code above]({file.relative_to(page.parent).as_posix()})"


def _in_notebook(value: Any, count: int) -> list[dict[str, Any]]:
    """Return the outputs of a cell in the format of notebooks, version 4."""
    if value is None:
        return []
    data: dict[str, str] = {"text/plain": repr(value)}
    if isinstance(value, Image.Image):
        file = io.BytesIO()
        value.save(file, "JPEG", quality=80)
        size = f"{value.width} x {value.height}"
        data = {
            "image/jpeg": base64.b64encode(file.getvalue()).decode(),
            "text/plain": f"<an image, {size}>",
        }
    return [{"output_type": "execute_result", "execution_count": count, "data": data, "metadata": {}}]


def _write(notebook: Path) -> None:
    """Execute a notebook; write its outputs and its page."""
    tree, page, names = load_json(notebook, "the notebook"), page_of(notebook), dict[str, Any]()
    shown, count = [], 0
    for number, cell in enumerate(tree["cells"]):
        if cell["cell_type"] != "code":
            shown.append("")
            continue
        count += 1
        value = _value("".join(cell["source"]), names, notebook)
        shown.append(_on_page(value, number, page))
        cell |= {"execution_count": count, "outputs": _in_notebook(value, count)}
    shown.insert(1, "")  # of the note
    parts = [
        part for pair in zip(page_without_outputs(notebook), shown, strict=True) for part in pair if part
    ]
    write_text_whole(page, "\n\n".join(parts) + "\n")
    write_text_whole(notebook, json.dumps(tree, indent=1, ensure_ascii=False) + "\n")


def main() -> None:
    """Write all of them."""
    for notebook in NOTEBOOKS:
        _write(notebook)


if __name__ == "__main__":
    main()
