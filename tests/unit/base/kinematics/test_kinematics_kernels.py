"""Compiling and lazily importing the kernels."""

from __future__ import annotations

import subprocess
import sys

from embodied_iqa.base.kinematics.kernels import compiled


def test_importing_the_package_does_not_import_numba():
    code = "import sys, embodied_iqa.base.kinematics as k; k.Kinematics(); print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_code_compiles_even_if_no_cache_folder_is_writable():
    space: dict = {}
    exec(
        "def double(x):\n    return 2 * x\n", space
    )  # numba finds no cache folder for a function without a file
    assert compiled(space["double"])(21) == 42
