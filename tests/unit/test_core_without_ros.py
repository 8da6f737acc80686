"""The core works without ROS and model libraries: only the wing live/ and trainings import them."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import importlib, pkgutil, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ImportError(f"blocked: {name}")

ROS = {"rclpy", "rclpy_action", "rosgraph_msgs", "sensor_msgs", "std_msgs", "std_srvs", "geometry_msgs",
       "builtin_interfaces", "diagnostic_msgs", "lifecycle_msgs", "embodied_iqa_msgs"}
MODELS = {"torch", "torchvision", "transformers", "tokenizers", "huggingface_hub"}
TRAINING = (
    "embodied_iqa.base.training.",
    "embodied_iqa.models.panel.training.",
    "embodied_iqa.quality.metrics.training.",
    "embodied_iqa.quality.gate.fitting.networks",
    "embodied_iqa.imaging.distortions.denoiser_training",
    "embodied_iqa.models.vision.training.",
)
BLOCKED = ROS | MODELS

def import_all(names):
    for name in names:
        importlib.import_module(name)
    assert not BLOCKED & {name.partition(".")[0] for name in sys.modules}

sys.meta_path.insert(0, Blocker())
import embodied_iqa
core, training = [], []
for module in pkgutil.walk_packages(embodied_iqa.__path__, "embodied_iqa."):
    wing = module.name.split(".")[1]
    if wing == "live":
        continue
    (training if module.name.startswith(TRAINING) else core).append(module.name)
import_all(core)
BLOCKED = ROS
import_all(training)
print(len(core), len(training))
"""


def test_every_module_of_the_core_is_imported_without_ros_and_model_libraries() -> None:
    """Trainings need torch; without ROS they are imported too."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    core, training = map(int, done.stdout.split())
    assert core > 100
    assert training > 5


def test_the_blocker_blocks() -> None:
    script = SCRIPT.replace('wing == "live"', 'wing != "live"')
    assert script != SCRIPT
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "blocked:" in done.stderr
