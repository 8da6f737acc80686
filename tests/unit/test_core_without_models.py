"""The package works without the large model libraries, and says what to install where it matters."""

from __future__ import annotations

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
IMPORT_ALL = """
import importlib, pkgutil
import embodied_iqa
TRAINING = (
    "embodied_iqa.base.training.",
    "embodied_iqa.models.panel.training.",
    "embodied_iqa.quality.metrics.training.",
    "embodied_iqa.quality.gate.fitting.networks",
    "embodied_iqa.imaging.distortions.denoiser_training",
    "embodied_iqa.models.vision.training.",
)
for module in pkgutil.walk_packages(embodied_iqa.__path__, "embodied_iqa."):
    if module.name.split(".")[1] != "live" and not module.name.startswith(TRAINING):
        importlib.import_module(module.name)
assert not BLOCKED & {name.partition(".")[0] for name in sys.modules}
"""
COMMAND = """
from embodied_iqa.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def run(*words: str, first: str = "") -> subprocess.CompletedProcess[str]:
    script = BLOCK + first + COMMAND
    return subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)


def test_the_core_imports_no_model_library() -> None:
    done = run("subjects", "list", "--json", first=IMPORT_ALL)
    assert done.returncode == 0, done.stderr


def test_what_is_missing_is_reported_in_one_line(tmp_path: Path) -> None:
    done = run("subjects", "check", "qwen2.5-vl-7b", f"transformers:{tmp_path}", "--json")
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("torch is not installed; expected pip install -r requirements/models.txt") == 2
    done = run("subjects", "calibrate", f"transformers:{tmp_path}", "--scenes", "1")
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "embodied-iqa: torch is not installed; expected pip install -r requirements/models.txt"
    )
