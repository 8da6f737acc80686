"""The images of docker/ as tests see them: their instructions, and their files without an engine."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
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
    """An instruction of a Dockerfile."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Image:
    """What an image is built from.

    Attributes:
        file: Its Dockerfile.
        target: Name of its stage; empty for the last one.
    """

    file: Path
    target: str = ""

    @property
    def chain(self) -> list[Instruction]:
        """Its own instructions after those of the stages that it stands on, as an engine runs them."""
        return [item for stage in _chain(_stages(self.file), self.target) for item in stage]

    def last(self, name: str) -> str:
        """Value of the last instruction of a name."""
        return [item.value for item in self.chain if item.name == name][-1]

    def copies(self) -> list[tuple[list[str], str]]:
        """Sources and target of each COPY from the build context."""
        return _copies(self.chain)

    def variables(self) -> dict[str, str]:
        """What ENV sets."""
        words = [word for item in self.chain if item.name == "ENV" for word in item.value.split()]
        return dict(word.split("=", 1) for word in words)


def instructions(file: Path) -> list[Instruction]:
    """All instructions of a file, in its order."""
    with file.open("rb") as content:
        found = DockerfileParser(fileobj=content).structure
    return [Instruction(one["instruction"], one["value"]) for one in found if one["instruction"] != "COMMENT"]


def bases(file: Path) -> list[str]:
    """The images that the stages of a file stand on, those of its own stages left out."""
    stages = _stages(file)
    return [base for base in (stage[0].value.split()[0] for stage in stages) if base not in _names(stages)]


def copied(file: Path) -> list[str]:
    """What a file copies from the build context."""
    return [source for sources, _ in _copies(instructions(file)) for source in sources]


def image_of(service: Mapping[str, Any]) -> Image:
    """The image of a service of compose."""
    build = service["build"]
    return Image((COMPOSE.parent / build["context"] / build["dockerfile"]).resolve(), build.get("target", ""))


def _stages(file: Path) -> list[list[Instruction]]:
    stages: list[list[Instruction]] = []
    for item in instructions(file):
        if item.name == "FROM":
            stages.append([])
        stages[-1].append(item)
    return stages


def _names(stages: list[list[Instruction]]) -> list[str]:
    """Names of stages; empty for one without."""
    return [stage[0].value.partition(" AS ")[2] for stage in stages]


def _chain(stages: list[list[Instruction]], target: str) -> list[list[Instruction]]:
    names = _names(stages)
    own = stages[names.index(target)] if target else stages[-1]
    base = own[0].value.split()[0]
    return [*(_chain(stages, base) if base in names else []), own]


def _copies(listed: Sequence[Instruction]) -> list[tuple[list[str], str]]:
    found = []
    for item in listed:
        words = item.value.split()
        if item.name == "COPY" and not words[0].startswith("--from="):
            found.append(([word for word in words[:-1] if not word.startswith("--")], words[-1]))
    return found


def lay_out(family: str, folder: Path) -> Path:
    """Put the files of an image's /opt/policy below a folder by following its COPY instructions."""
    for sources, target in IMAGES[family].copies():
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


IMAGES = {name: image_of(service) for name, service in compose()["services"].items()}
"""Images by the service that runs them."""
