"""Results pages take at most two screens of 1920x1080 on the documentation site, in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from style_sources import ROOT

import docs_site
from chromium_pipe import chromium, executable

pytestmark = [
    pytest.mark.skipif(
        executable() is None, reason="needs a browser: apt-get install chromium (Debian) to look at the page"
    ),
    pytest.mark.skipif(
        not docs_site.BUILDER.is_file(), reason="needs Zensical in .venv-docs: bash scripts/setup_docs.sh"
    ),
]

DOCS = ROOT / "docs"
WIDTH_PX, HEIGHT_PX, SCREENS = 1920, 1080, 2
KEPT = ("site_name:", "use_directory_urls:", "extra_css:", "theme:", "markdown_extensions:")
"""What decides how a page looks: no navigation and no API reference, which take most of the time."""
_ARTICLE = "document.querySelector('article').getBoundingClientRect().height"


def _build(folder: Path) -> Path:
    """Build the results pages alone, and a page of more than two screens; return where they are."""
    blocks = re.split(r"\n(?=[a-z_]+:)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    kept = [block for block in blocks if block.startswith(KEPT)]
    assert len(kept) == len(KEPT)
    (folder / "mkdocs.yml").write_text("\n".join(kept), encoding="utf-8")
    pages = folder / "docs/results"
    shutil.copytree(DOCS / "results", pages, ignore=shutil.ignore_patterns("details"))
    shutil.copytree(DOCS / "results/details/images", pages / "details/images")
    shutil.copytree(DOCS / "stylesheets", folder / "docs/stylesheets")
    (pages / "long.md").write_text("# Long\n\n" + "One line.\n\n" * 60, encoding="utf-8")
    command = [str(docs_site.BUILDER), "build", "-f", "mkdocs.yml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site/results"


def test_a_page_takes_at_most_two_screens(tmp_path: Path) -> None:
    built = _build(tmp_path)
    heights: dict[str, float] = {}
    with chromium(tmp_path / "profile") as browser:
        for page in sorted(built.glob("*.html")):
            browser.show(page, WIDTH_PX, "light")
            heights[page.stem] = browser.value(_ARTICLE)
    assert sorted(heights) == sorted(["long", *(page.stem for page in (DOCS / "results").glob("*.md"))])
    too_high = {name: height for name, height in heights.items() if height > SCREENS * HEIGHT_PX}
    assert too_high.keys() == {"long"}, f"the rest belongs in docs/results/details: {too_high}"
