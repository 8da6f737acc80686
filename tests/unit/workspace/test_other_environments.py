"""`make pyiqa` and `make libero`: what is half installed does not pass as whole."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", ["libero", "pyiqa"])
def test_an_environment_that_cannot_be_renewed_is_not_whole(name: str, tmp_path: Path) -> None:
    scripts = f"scripts/setup_{name}.sh", "scripts/separate_environment.sh"
    for file in (*scripts, f"requirements/{name}/locked.txt"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    note = tmp_path / f".venv-{name}" / "installed.txt"
    python = note.parent / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    note.write_text("of an older list\n")
    done = subprocess.run(["bash", str(tmp_path / f"scripts/setup_{name}.sh")], check=False)
    assert done.returncode == 1
    assert not note.exists()
