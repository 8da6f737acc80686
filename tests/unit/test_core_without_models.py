"""Commands work without the large model libraries, and say what to install where it matters.

That every module is imported without them: `test_core_without_ros.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BLOCK = """
import sys

BLOCKED = {"torch", "torchvision", "transformers", "tokenizers", "huggingface_hub"}

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
"""
COMMAND = """
from embodied_iqa.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    script = BLOCK + COMMAND
    return subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)


def test_subjects_are_listed_without_model_libraries() -> None:
    done = run("subjects", "list", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


def test_what_is_missing_is_reported_in_one_line(tmp_path: Path) -> None:
    done = run("subjects", "check", "qwen2.5-vl-7b", f"transformers:{tmp_path}", "--json")
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("torch is not installed; expected pip install -r requirements/models.txt") == 2
    done = run("subjects", "calibrate", f"transformers:{tmp_path}", "--scenes", "1")
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "embodied-iqa: torch is not installed; "
        "expected pip install -r requirements/models.txt in a checkout, "
        "else pip install 'embodied_iqa[models]'"
    )
