"""The documentation site: every page has a place, every message that it explains is printed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml
from style_sources import PACKAGE, ROOT

import docs_site
import write_notebooks
import write_reference

DOCS = ROOT / "docs"
MADE = {"reference/api.md"}
"""Pages that scripts/docs_site.py adds."""
_FIRST_CELL = re.compile(r"^\| <a id=\"[a-z0-9-]+\"></a>(`.*?) \|", re.MULTILINE)
_OUT = re.compile(r"\]\(\.\./")
_COPY = re.compile(r"\]\((?:\.\./)*checkout/([^)#]+)")
_MESSAGE = re.compile(r"`([^`]+)`")


def test_links_out_of_docs_lead_to_copies(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    docs_site.prepare(folder)
    pages = {page: page.read_text(encoding="utf-8") for page in folder.rglob("*.md")}
    assert not [page for page, text in pages.items() if _OUT.search(text) and page.parent == folder]
    copies = [link for text in pages.values() for link in _COPY.findall(text)]
    assert copies
    assert all((folder / "checkout" / link).is_file() for link in copies)
    assert pages[folder / "README.md"].count("\n| [API reference](reference/api.md) |") == 1
    assert pages[folder / "reference/api.md"].count("\n::: embodied_iqa.") == len(docs_site.public_names())
    assert (
        "::: embodied_iqa.DistortionEntry\n\nSignatures on this page call it `Entry`.\n"
        in pages[folder / "reference/api.md"]
    )


def test_a_link_of_the_built_site_leads_to_a_file_and_an_anchor(tmp_path: Path) -> None:
    (tmp_path / "reference").mkdir()
    (tmp_path / "index.html").write_text(
        """<h1 id="start">Start</h1> <a href="#start">up</a> <a href="reference/gate.html#a%20b">gate</a>
        <a href="reference/">folder</a> <a href="https://example.org/x#y">out</a> <a href="/top">top</a>"""
    )
    gate = """<td><a id="a b"></a>a message</td> <a href="../index.html#start">start</a> <i id="x"></i>"""
    (tmp_path / "reference/gate.html").write_text(gate)
    (tmp_path / "reference/index.html").write_text("<p>all</p>")
    assert docs_site.broken_links(tmp_path) == []
    more = """<a href="#stop">here</a> <a href="../index.html#stop">there</a> <a href="lease.html">none</a>
        <a id="x"></a>"""
    (tmp_path / "reference/gate.html").write_text(gate + more)
    assert docs_site.broken_links(tmp_path) == [
        "reference/gate.html: two anchors #x",
        "reference/gate.html: no anchor #stop",
        "reference/gate.html: no anchor ../index.html#stop",
        "reference/gate.html: no file lease.html",
    ]


def test_an_item_that_became_part_of_a_paragraph_is_found(tmp_path: Path) -> None:
    whole = """<p>on - off, at 2\n0.5 s</p><ol>\n<li>one</li>\n<li>\n<p>two</p></li></ol>
        <pre><code>a\n- b\n</code></pre><h2>\n1. Start</h2>"""
    (tmp_path / "gate.html").write_text(whole)
    assert docs_site.lost_items(tmp_path) == []
    lost = "<li><p>lists <code>all</code>.\n3. Use it</p></li><p>where\n- x</p>"
    (tmp_path / "gate.html").write_text(f"{whole}{lost}")
    assert docs_site.lost_items(tmp_path) == [
        "gate.html: not an item of a list: 3. Use it",
        "gate.html: not an item of a list: - x",
    ]


@pytest.mark.parametrize("notebook", write_notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_the_executed_notebook_is_the_notebook(notebook: Path) -> None:
    page = write_notebooks.page_of(notebook).read_text(encoding="utf-8")
    places = [page.index(part) for part in write_notebooks.page_without_outputs(notebook)]
    assert places == sorted(places)


@pytest.mark.parametrize("notebook", write_notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_holds_the_outputs_of_its_page(notebook: Path) -> None:
    page = write_notebooks.page_of(notebook).read_text(encoding="utf-8")
    shown = re.findall(r"^```text\n(.*?)\n```$|^!\[Output of", page, re.DOTALL | re.MULTILINE)
    held = [output["data"] for cell in write_notebooks.cells(notebook) for output in cell.get("outputs", ())]
    assert ["" if "image/jpeg" in data else data["text/plain"] for data in held] == shown
    assert {name for data in held for name in data} == {"image/jpeg", "text/plain"}
    assert notebook.stat().st_size < 200_000


def test_the_generated_references_are_current() -> None:
    again = "write them again: .venv/bin/python scripts/write_reference.py"
    pages = {
        write_reference.PARAMETERS: write_reference.parameters_page(),
        write_reference.TOPICS: write_reference.topics_page(),
    }
    assert [page.name for page, text in pages.items() if page.read_text(encoding="utf-8") != text] == [], (
        again
    )


def _leaves(tree: object) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
        return
    assert isinstance(tree, list | dict)
    for branch in tree.values() if isinstance(tree, dict) else tree:
        yield from _leaves(branch)


def test_every_page_has_one_place_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    navigation = yaml.safe_load(text[text.index("\nnav:") :])["nav"]
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert sorted(_leaves(navigation)) == sorted(pages | MADE)


def _printed(node: ast.expr) -> str:
    """The text of a string; what is put in when it runs is an ellipsis."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_printed(part) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return ""


@cache
def _texts() -> str:
    found = {
        _printed(node)
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant | ast.JoinedStr)
    }
    return "\n".join(sorted(found))


def _explained() -> list[str]:
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    return [message for cell in _FIRST_CELL.findall(page) for message in _MESSAGE.findall(cell)]


@pytest.mark.parametrize("message", _explained())
def test_a_message_that_is_explained_is_printed(message: str) -> None:
    assert message in _texts(), "no string of the package reads so: … stands for what is put in"


def test_each_message_that_is_explained_has_an_anchor_of_its_own() -> None:
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    anchors = re.findall(r"<a id=\"([^\"]+)\">", page)
    assert len(anchors) == len(set(anchors))
    assert re.findall(r"^\| [`\"].*", page, re.MULTILINE) == []


def test_many_messages_are_explained() -> None:
    assert len(_explained()) > 160


def test_each_group_of_messages_is_in_the_list_above() -> None:
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    groups = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert re.findall(r"^\| \[([^\]]*)\]\(#", page, re.MULTILINE) == groups
