"""The documentation site, `make docs`: docs/ with the API reference, built by Zensical.

The pages are the Markdown of docs/, which is readable without the site. Beside them, `.build/docs` gets the
API reference, made of the public names, and the files of the checkout that pages link to: no link leads
out of the site. In the built pages, every link has to lead to a file and every `#...` to an anchor there,
also those that the Markdown writes as HTML, and no item of a list may be part of the paragraph above.
Needs the standard library alone, and Zensical in .venv-docs.
"""

from __future__ import annotations

import ast
import posixpath
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SITE = ROOT / ".build/site"
BUILDER = ROOT / ".venv-docs/bin/zensical"
PREPARED = ROOT / ".build/docs"
API = "reference/api.md"
_API_ROW = "| API reference |"
"""In the index, which has no link to a page that only the site has."""
COPIES = "checkout"
_OUTSIDE = re.compile(r"(?<=\]\()((?:\.\./)+[^()\s#]+)")
_BLOCKS = {"p", "li", "ul", "ol", "pre", "td", "th", "div", *(f"h{level}" for level in range(1, 7))}
_LOST_ITEM = re.compile(r"\n((?:[-*+]|[1-9]\d?\.) [^\n]*)")
_INTRODUCTION = """\
# API reference

The public names of `import embodied_iqa`, from their docstrings. [Python interface](../python.md)
says which is for what.
"""


def public_names() -> dict[str, str]:
    """Return the names that the package shows, as `_PLACES` lists them, and each where it is defined."""
    tree = ast.parse((ROOT / "src/embodied_iqa/__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["_PLACES"]:
            places = ast.literal_eval(node.value)
            names = sorted(places, key=str.lower)
            return {name: places[name].partition(":")[2] or name for name in names}
    raise LookupError("embodied_iqa has no table of its public names")


def api_page() -> str:
    """Return the page of the public names: functions first, then types."""
    parts = [_INTRODUCTION]
    for title, types in (("Functions", False), ("Types", True)):
        names = {name: own for name, own in public_names().items() if name[0].isupper() == types}
        parts.append(f"## {title}\n")
        for name, own in names.items():
            parts.append(f"::: embodied_iqa.{name}\n")
            if types and own != name:
                parts.append(f"Signatures on this page call it `{own}`.\n")
    return "\n".join(parts)


def prepare(folder: Path = PREPARED) -> None:
    """Fill a folder with all pages of the site, anew."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder)
    for page in sorted(folder.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        moved = _OUTSIDE.sub(lambda link, page=page: _copied(link[0], page, folder), text)
        if moved != text:
            page.write_text(moved, encoding="utf-8")
    (folder / API).write_text(api_page(), encoding="utf-8")
    index = folder / "README.md"
    text = index.read_text(encoding="utf-8")
    index.write_text(text.replace(_API_ROW, f"| [API reference]({API}) |"), encoding="utf-8")


def _copied(link: str, page: Path, folder: Path) -> str:
    """Return where a link leads in the site: files of the checkout, not of docs/, are copied as text."""
    here = page.parent.relative_to(folder).as_posix()
    source = posixpath.normpath(posixpath.join("docs", here, link))
    if source.startswith("docs/"):
        return link
    path = ROOT / source
    copy = folder / COPIES / f"{source}.txt"
    copy.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if file.is_file() and file.suffix != ".pyc"]
        parts = [f"{file.relative_to(ROOT)}\n\n{file.read_text(encoding='utf-8')}" for file in files]
        copy.write_text("\n\n".join(parts), encoding="utf-8")
    else:
        shutil.copyfile(path, copy)
    return posixpath.relpath(copy.relative_to(folder).as_posix(), here)


class _Page(HTMLParser):
    """The anchors of a page, where its links lead, and the text of its paragraphs and items."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: list[str] = []
        self.links: list[str] = []
        self.texts: list[str] = []
        self._is_text = False
        self.feed(text)

    def handle_endtag(self, tag: str) -> None:
        self._is_text = self._is_text and tag not in _BLOCKS

    def handle_data(self, data: str) -> None:
        if self._is_text:
            self.texts[-1] += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self._is_text = tag in {"p", "li"}
            self.texts.append("")
        for name, value in attrs:
            if value and (name == "id" or (tag, name) == ("a", "name")):
                self.anchors.append(value)
            elif value and (tag, name) == ("a", "href"):
                self.links.append(value)


def broken_links(site: Path = SITE) -> list[str]:
    """Return the links of a built site that lead to no file or anchor of it, and anchors that stand twice."""
    pages = {
        path.relative_to(site).as_posix(): _Page(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
    }
    found = []
    for name, page in pages.items():
        twice = sorted({anchor for anchor in page.anchors if page.anchors.count(anchor) > 1})
        found += [f"{name}: two anchors #{anchor}" for anchor in twice]
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or parts.path.startswith("/"):
                continue
            there = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path)))
            there = name if not parts.path else f"{there}/index.html" if (site / there).is_dir() else there
            if not (site / there).is_file():
                found.append(f"{name}: no file {link}")
            elif parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].anchors:
                found.append(f"{name}: no anchor {link}")
    return found


def lost_items(site: Path = SITE) -> list[str]:
    """Return the items of lists that became part of a paragraph: an empty line above them is missing."""
    return [
        f"{path.relative_to(site).as_posix()}: not an item of a list: {item}"
        for path in sorted(site.rglob("*.html"))
        for text in _Page(path.read_text(encoding="utf-8")).texts
        for item in _LOST_ITEM.findall(text)
    ]


def main() -> int:
    """Build the site into .build/site; any warning, broken link and lost item of a list is an error."""
    prepare()
    command = [str(BUILDER), "build", "--clean", "--strict", "-f", "mkdocs.yml"]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code:
        return code
    broken = broken_links() + lost_items()
    print("\n".join(broken) if broken else "site: .build/site/index.html")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
