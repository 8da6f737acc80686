"""What starts openpi's own server: the command line, the vocabulary, the consent to the tokenizer's code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from image_files import COMPOSE, POLICIES, compose, filled

from live_process import COMPLETION_S

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SERVER = "import json, sys\nprint(json.dumps(sys.argv[1:]))\n"
FAST = "models--physical-intelligence--fast/refs"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A checkpoint, a vocabulary, and a stand-in for openpi's server that prints its arguments."""
    (tmp_path / "models" / "openpi" / "big_vision").mkdir(parents=True)
    (tmp_path / "models" / "openpi" / "big_vision" / "paligemma_tokenizer.model").write_bytes(b"words")
    (tmp_path / "models" / "pi0").mkdir()
    (tmp_path / "openpi" / "scripts").mkdir(parents=True)
    (tmp_path / "openpi" / "scripts" / "serve_policy.py").write_text(SERVER, encoding="utf-8")
    return tmp_path


def start(place: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "OPENPI_ASSETS": str(place / "models" / "openpi"),
        "OPENPI_DATA_HOME": str(place / "data"),
        "HF_HUB_CACHE": str(place / "models"),
        **variables,
    }
    command = [sys.executable, str(POLICIES / "openpi" / "start.py"), "--root", str(place / "openpi"), *words]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=COMPLETION_S
    )


def test_becomes_the_server_of_a_checkpoint(place: Path) -> None:
    folder = place / "models" / "pi0"
    done = start(place, "--config=pi0_libero", f"--dir={folder}")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        "--port=8000",
        "policy:checkpoint",
        "--policy.config=pi0_libero",
        f"--policy.dir={folder}",
    ]
    assert (place / "data" / "big_vision" / "paligemma_tokenizer.model").read_bytes() == b"words"


def test_command_of_compose_is_understood(place: Path) -> None:
    words = filled(
        compose(COMPOSE)["services"]["openpi"]["command"], {"OPENPI_DIR": str(place / "models" / "pi0")}
    )
    assert start(place, *words).returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--config=pi0_libero", "--dir=/nowhere"), "nothing is fetched here"),
        (
            ("--config=pi0_libero", "--dir=gs://openpi-assets/checkpoints/pi0_libero"),
            "nothing is fetched here",
        ),
        (("--config=pi0_libero",), "--dir"),
    ],
)
def test_wrong_use_is_one_line(place: Path, words: tuple[str, ...], said: str) -> None:
    done = start(place, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_missing_vocabulary_is_told(place: Path) -> None:
    done = start(place, "--config=pi0_libero", f"--dir={place / 'models' / 'pi0'}", OPENPI_ASSETS="/nowhere")
    assert done.returncode == 2
    assert "gs://big_vision/paligemma_tokenizer.model" in done.stderr


def test_fast_needs_a_consent_to_what_would_run(place: Path) -> None:
    words = ("--config=pi0_fast_libero", f"--dir={place / 'models' / 'pi0'}")
    assert "consents" in start(place, *words).stderr
    assert "40 digits" in start(place, *words, TRUST_REMOTE_CODE="yes").stderr
    pinned = (*words, "--trust-remote-code", f"--tokenizer-revision={COMMIT}")
    assert "names nothing" in start(place, *pinned).stderr
    (place / "models" / FAST).mkdir(parents=True)
    (place / "models" / FAST / "main").write_text("f" * 40, encoding="ascii")
    assert "this is what would run" in start(place, *pinned).stderr
    (place / "models" / FAST / "main").write_text(COMMIT, encoding="ascii")
    assert start(place, *pinned).returncode == 0
