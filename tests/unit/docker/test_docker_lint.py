"""Dockerfiles: hadolint's rules, exact pins, existing sources, no root."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from image_files import (
    DOCKER,
    DOCKERFILES,
    HOSTED,
    IMAGES,
    POLICIES,
    ROOT,
    SERVERS,
    Image,
    bases,
    copied,
    instructions,
    words_of,
)

HADOLINT = Path(sys.executable).parent / "hadolint"
_REQUIREMENT = re.compile(r"[A-Za-z0-9][\w.-]*(\[[\w,.-]+\])?==[\w.+!-]+\Z")
_INSTALLED = re.compile(r'"([^"]+)"')
_LOCK_FILES = [POLICIES / family / "requirements.txt" for family in HOSTED]


def hadolint(file: Path) -> subprocess.CompletedProcess[str]:
    words = [str(HADOLINT), "--config", str(DOCKER / ".hadolint.yaml"), str(file)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def pins(file: Path) -> list[str]:
    return [
        line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")
    ]


def name_of(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=~! ]", requirement)[0]).lower()


def _id(file: Path) -> str:
    return file.parent.name


def test_every_family_has_an_image_and_every_file_is_built() -> None:
    assert set(IMAGES) == {"robot", *SERVERS}
    assert {image.file for image in IMAGES.values()} == set(DOCKERFILES)


@pytest.mark.parametrize("file", DOCKERFILES, ids=_id)
def test_hadolint(file: Path) -> None:
    done = hadolint(file)
    assert done.returncode == 0, done.stdout + done.stderr


def test_hadolint_finds_what_is_wrong(tmp_path: Path) -> None:
    wrong = tmp_path / "Dockerfile"
    wrong.write_text('FROM python\nRUN cd /tmp && pip install numpy\nCMD python -c "1"\n', encoding="utf-8")
    done = hadolint(wrong)
    assert done.returncode != 0
    assert {"DL3006", "DL3013", "DL3003"} <= set(re.findall(r"DL\d{4}", done.stdout))


@pytest.mark.parametrize("file", DOCKERFILES, ids=_id)
def test_bases_are_held_by_digest(file: Path) -> None:
    assert bases(file)
    for base in bases(file):
        assert re.fullmatch(r"(python:3\.11-slim-bookworm|ros:jazzy)@sha256:[0-9a-f]{64}", base), base


@pytest.mark.parametrize("file", DOCKERFILES, ids=_id)
def test_sources_of_copies_exist(file: Path) -> None:
    assert copied(file)
    for source in copied(file):
        assert (ROOT / source).exists(), f"{file}: COPY {source}"


@pytest.mark.parametrize("file", DOCKERFILES, ids=_id)
def test_what_run_installs_is_exact(file: Path) -> None:
    """pip gets files, exact versions or repositories at a full commit; git fetches full commits."""
    for item in instructions(file):
        if item.name != "RUN":
            continue
        for word in _INSTALLED.findall(item.value):
            is_commit = re.fullmatch(r"[\w-]+ @ git\+https://github\.com/[\w./-]+@[0-9a-f]{40}", word)
            assert is_commit or _REQUIREMENT.fullmatch(word), word
        for command in re.split(r"&&", item.value):
            words = command.split()
            if "install" in words and any(word.endswith("pip") for word in words):
                _check_pip(words[words.index("install") + 1 :])
            if words[:1] == ["git"] and "fetch" in words:
                assert re.fullmatch(r"[0-9a-f]{40}", words[-1]), command


def _check_pip(words: list[str]) -> None:
    takes_value = {"-r", "-c", "-f"}
    free = [
        word
        for index, word in enumerate(words)
        if not word.startswith("-") and words[index - 1] not in takes_value
    ]
    loose = [
        word for word in free if not word.startswith(('"', "git+")) and not word.endswith('"') and word != "@"
    ]
    assert not loose, f"pip install {loose}"
    assert "--no-cache-dir" in words


@pytest.mark.parametrize("file", _LOCK_FILES, ids=_id)
def test_every_requirement_of_an_image_is_exact(file: Path) -> None:
    lines = pins(file)
    assert len(lines) > 20
    assert not [line for line in lines if not _REQUIREMENT.fullmatch(line)]
    assert len({name_of(line) for line in lines}) == len(lines)


@pytest.mark.parametrize("file", _LOCK_FILES, ids=_id)
def test_the_lock_holds_what_was_asked_for(file: Path) -> None:
    """Every direct requirement is in the lock or installed by the Dockerfile, at an allowed version."""
    from packaging.requirements import Requirement

    locked = dict(line.split("==") for line in pins(file))
    locked = {name_of(name): version for name, version in locked.items()}
    family = file.parent.name
    stage = Image(POLICIES / "Dockerfile", f"{family}-environment")
    installed = "\n".join(item.value for item in stage.chain if item.name == "RUN")
    for line in pins(file.with_suffix(".in")):
        wanted = Requirement(line)
        if f'"{wanted.name}==' in installed:
            continue
        version = locked[name_of(wanted.name)]
        assert wanted.specifier.contains(version, prereleases=True), f"{line} against {version}"


@pytest.mark.parametrize("family", HOSTED)
def test_a_hosted_image_has_what_the_server_needs(family: str) -> None:
    names = {name_of(line) for line in pins(POLICIES / family / "requirements.txt")}
    assert {"numpy", "msgpack", "websockets", "pillow"} <= names


def test_versions_that_make_or_break_a_family() -> None:
    locks = {family: pins(POLICIES / family / "requirements.txt") for family in HOSTED}
    assert "transformers==4.40.1" in locks["openvla"], "later ones do not look at the image"
    assert "transformers==4.40.1" in locks["cogact"]
    assert "lerobot==0.4.4" in locks["lerobot"]
    assert "transformers==4.57.1" in locks["lerobot"]
    assert "jax==0.4.20" in locks["octo"]
    assert any(line.startswith("scipy==1.12") for line in locks["octo"]), (
        "jax 0.4.20 imports scipy.linalg.tril"
    )
    assert any(line.startswith("nvidia-cudnn-cu12==8.9") for line in locks["octo"]), "jaxlib ...cudnn89"
    for family in ("octo", "rt1x", "cogact"):
        assert "setuptools==80.9.0" in locks[family], "TensorFlow's packages of 2023 import pkg_resources"
    for family in ("octo", "cogact"):
        assert "tensorflow-metadata==1.15.0" in locks[family], (
            "later ones need protobuf 5, TensorFlow below 5"
        )
    for family in ("openvla", "octo", "rt1x", "cogact"):
        assert any(line.startswith("numpy==1.") for line in locks[family]), f"{family} was built on NumPy 1"


@pytest.mark.parametrize("name", IMAGES)
def test_nobody_is_root(name: str) -> None:
    user = IMAGES[name].last("USER").split(":")[0]
    assert int(user) >= 1000


@pytest.mark.parametrize("name", SERVERS)
def test_servers_fetch_nothing(name: str) -> None:
    chosen = IMAGES[name].variables()
    assert chosen["HF_HUB_OFFLINE"] == "1"
    assert chosen["HF_HUB_CACHE"] == "/models"


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_without_options_prints_its_help(name: str) -> None:
    """CMD has to follow ENTRYPOINT in an image's own stage: an engine drops the one of a base."""
    names = [item.name for item in IMAGES[name].chain]
    assert IMAGES[name].last("CMD") == '["--help"]'
    assert names[::-1].index("CMD") < names[::-1].index("ENTRYPOINT")


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_has_the_environment_of_its_own_stage(name: str) -> None:
    (source,) = (item.value.split()[0] for item in IMAGES[name].chain if "/opt/venv /opt/venv" in item.value)
    assert source == ("--from=build" if name == "openpi" else f"--from={name}-environment")


@pytest.mark.parametrize("file", DOCKERFILES, ids=_id)
def test_no_secret_in_an_image(file: Path) -> None:
    for item in instructions(file):
        if item.name in {"ENV", "ARG"}:
            assert not re.search(r"(?i)(token|secret|password|api_?key)", item.value), item.value


@pytest.mark.parametrize("name", SERVERS)
def test_health_is_asked_of_a_file_that_is_there(name: str) -> None:
    words = words_of(IMAGES[name].last("HEALTHCHECK").split("CMD", 1)[1].strip())
    targets = [target for _, target in IMAGES[name].copies()]
    assert words == ["python", "/opt/policy/health.py", "8000"]
    assert words[1] in targets


def test_pickles_are_opened_as_tensors_only() -> None:
    assert IMAGES["cogact"].variables()["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] == "1"
