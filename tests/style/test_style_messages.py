"""Interface files: all listed, every field explained, every real number with its unit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from style_sources import ROOT

FOLDER = ROOT / "msg"
FILES = sorted(file for kind in ("msg", "srv", "action") for file in FOLDER.glob(f"{kind}/*.{kind}"))
_FIELD = re.compile(r"^(?P<type>[A-Za-z][\w/]*)(?P<array>\[[<=\d]*\])?\s+(?P<name>[a-z]\w*)(?P<rest>.*)$")
_CONSTANT = re.compile(r"^\w+\s+[A-Z][A-Z0-9_]*\s*=")


def test_every_file_is_listed_and_every_listed_file_exists() -> None:
    text = (FOLDER / "CMakeLists.txt").read_text(encoding="utf-8")
    listed = re.findall(r'"((?:msg|srv|action)/\w+\.\w+)"', text)
    assert sorted(listed) == sorted(file.relative_to(FOLDER).as_posix() for file in FILES)


def test_dependencies_are_declared() -> None:
    manifest = (FOLDER / "package.xml").read_text(encoding="utf-8")
    cmake = (FOLDER / "CMakeLists.txt").read_text(encoding="utf-8")
    used = {
        match for file in FILES for match in re.findall(r"^([a-z_]+)/\w+", file.read_text(), re.MULTILINE)
    }
    for package in used:
        assert f"<depend>{package}</depend>" in manifest
        assert f"find_package({package} REQUIRED)" in cmake


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_file_starts_with_what_it_is(file: Path) -> None:
    assert re.match(r"# [A-Z].*\.", file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_every_field_has_a_comment_and_real_numbers_a_unit(file: Path) -> None:
    wrong = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith("#") or text == "---" or _CONSTANT.match(text):
            continue
        match = _FIELD.match(text)
        assert match is not None, f"{file.name}:{number}: {text}"
        comment = match["rest"].partition("#")[2].strip()
        if not comment:
            wrong.append(f"{number}: {match['name']} has no comment")
        elif match["type"].startswith("float") and not re.search(r"\[[^\]]+\]", comment):
            wrong.append(f"{number}: {match['name']} has no unit in brackets")
    assert not wrong, f"{file.name}\n" + "\n".join(wrong)
