"""Nothing of the machine or network that it was written on is in what users get."""

from __future__ import annotations

import re

from style_sources import ROOT, project_files

TEXT = {".cfg", ".cmake", ".css", ".html", ".j2", ".js", ".json", ".md", ".msg", ".py", ".sh", ".srv",
        ".action", ".toml", ".txt", ".xml", ".yaml", ".yml", ""}  # fmt: skip
_HOMES = "work|root|home|opt/pypi|opt/wheels|Users"
ABSOLUTE = re.compile(rf"(?<![\w.~$}}:/-])/(?:{_HOMES})(?:/|\b(?![\w-]))")
REGISTRY = re.compile(
    "|".join(
        (
            "--(?:extra-)?index-" + "url",
            "--find-" + "links",
            "PIP_(?:EXTRA_)?INDEX_" + "URL",
            "arti" + "factory",
        )
    ),
    re.IGNORECASE,
)
MARKER = re.compile(r"^(?:<{7}|>{7}|\|{7})(?: |$)")
LARGEST_BYTES = 5_000_000


def _lines_with(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for file in project_files():
        if file.suffix in TEXT and file.name != "LICENSE":
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
                if pattern.search(line):
                    found.append(f"{file.relative_to(ROOT)}:{number}: {line.strip()[:120]}")
    return found


def test_patterns_find_what_they_are_for() -> None:
    assert ABSOLUTE.search("open('/" + "work/main/x')")
    assert ABSOLUTE.search("cd /" + "root")
    assert not ABSOLUTE.search("ros topic a/work/b, /working, https://x.org/work/y")
    assert REGISTRY.search("pip install --index-" + "url https://example.org")
    assert MARKER.search("<" * 7 + " HEAD")
    assert MARKER.search(">" * 7)
    assert not MARKER.search(">>> >>>>>>>>")


def test_no_absolute_path_of_a_machine() -> None:
    found = _lines_with(ABSOLUTE)
    assert not found, "\n".join(found)


def test_no_registry_host() -> None:
    found = _lines_with(REGISTRY)
    assert not found, "\n".join(found)


def test_no_marker_of_a_conflict() -> None:
    found = _lines_with(MARKER)
    assert not found, "\n".join(found)


def test_no_large_file() -> None:
    large = [str(file.relative_to(ROOT)) for file in project_files() if file.stat().st_size > LARGEST_BYTES]
    assert not large


def test_nothing_learned_is_a_pickle() -> None:
    pickles = [
        str(file.relative_to(ROOT)) for file in project_files() if file.suffix in {".pkl", ".pt", ".pth"}
    ]
    assert not pickles
