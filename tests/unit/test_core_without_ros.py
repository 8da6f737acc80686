"""The core works where ROS is not installed: nothing outside of the wing live/ imports it."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import importlib, pkgutil, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ImportError(f"blocked: {name}")

BLOCKED = {"rclpy", "rclpy_action", "rosgraph_msgs", "sensor_msgs", "std_msgs", "std_srvs", "geometry_msgs",
           "builtin_interfaces", "diagnostic_msgs", "lifecycle_msgs", "embodied_iqa_msgs"}
sys.meta_path.insert(0, Blocker())
import embodied_iqa
count = 0
for module in pkgutil.walk_packages(embodied_iqa.__path__, "embodied_iqa."):
    wing = module.name.split(".")[1]
    if wing == "live":
        continue
    importlib.import_module(module.name)
    count += 1
assert not BLOCKED & {name.partition(".")[0] for name in sys.modules}
print(count)
"""


def test_every_module_of_the_core_is_imported_without_ros() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


def test_the_blocker_blocks() -> None:
    script = SCRIPT.replace('wing == "live"', 'wing != "live"')
    assert script != SCRIPT
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "blocked:" in done.stderr
