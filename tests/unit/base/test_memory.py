"""Memory of large arrays is reused from image to image."""

from __future__ import annotations

import subprocess
import sys

import pytest

IMAGES = 10
SCRIPT = f"""
import resource, sys
import numpy as np
from embodied_iqa.quality.gate.image_statistics import measure
from embodied_iqa.base.memory import reuse_large_blocks

if sys.argv[1] == "reused" and not reuse_large_blocks():
    sys.exit(77)
rgb = np.random.default_rng(0).integers(0, 256, (720, 1280, 3), dtype=np.uint8)
measure(rgb)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range({IMAGES}):
    measure(rgb)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", SCRIPT, how], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("another C library than glibc")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_pages_of_large_arrays_are_not_cleared_again_for_each_image() -> None:
    assert faults("reused") < 10 * IMAGES
