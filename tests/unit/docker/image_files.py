"""The images of docker/ as tests see them: their instructions, and their files without an engine."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from dockerfile_parse import DockerfileParser

ROOT = Path(__file__).resolve().parents[3]
DOCKER = ROOT / "docker"
POLICIES = DOCKER / "policies"
COMPOSE = DOCKER / "compose.yaml"
HOSTED = ("openvla", "octo", "rt1x", "cogact", "lerobot")
"""Families that policy_host serves."""
SERVERS = (*HOSTED, "native", "openpi")
DOCKERFILES = sorted(DOCKER.rglob("Dockerfile"))

_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, and whether it is in the last stage."""

    name: str
    value: str
    is_last_stage: bool


def instructions(file: Path) -> list[Instruction]:
    with file.open("rb") as content:
        found = [
            item for item in DockerfileParser(fileobj=content).structure if item["instruction"] != "COMMENT"
        ]
    stages = [index for index, item in enumerate(found) if item["instruction"] == "FROM"]
    return [
        Instruction(item["instruction"], item["value"], index >= stages[-1])
        for index, item in enumerate(found)
    ]


def last(file: Path, name: str) -> str:
    """Value of the last instruction of a name in the last stage."""
    return [item.value for item in instructions(file) if item.name == name and item.is_last_stage][-1]


def copies(file: Path) -> list[tuple[list[str], str]]:
    """Sources and target of each COPY from the build context."""
    found = []
    for item in instructions(file):
        words = item.value.split()
        if item.name == "COPY" and not words[0].startswith("--from="):
            found.append(([word for word in words[:-1] if not word.startswith("--")], words[-1]))
    return found


def variables(file: Path) -> dict[str, str]:
    """What ENV sets in the last stage."""
    pairs: dict[str, str] = {}
    for item in instructions(file):
        if item.name == "ENV" and item.is_last_stage:
            pairs |= dict(word.split("=", 1) for word in item.value.split())
    return pairs


def lay_out(family: str, folder: Path) -> Path:
    """Put the files of an image's /opt/policy below a folder by following its COPY instructions."""
    for sources, target in copies(POLICIES / family / "Dockerfile"):
        if not target.startswith("/opt/policy"):
            continue
        (source,) = sources
        place = folder / target.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(ROOT / source, place)
    return folder / "opt" / "policy"


def words_of(value: str) -> list[str]:
    """The words of an instruction in its JSON form."""
    words = json.loads(value)
    assert all(isinstance(word, str) for word in words)
    return words


def compose(file: Path = COMPOSE) -> dict[str, Any]:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def filled(value: Any, given: Mapping[str, str] | None = None) -> Any:
    """Fill in variables as compose does: what is given, else the default, else nothing."""
    chosen = given or {}
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: chosen.get(found[1]) or found[2] or "", value)
    if isinstance(value, list):
        return [filled(item, chosen) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, chosen) for key, item in value.items()}
    return value
