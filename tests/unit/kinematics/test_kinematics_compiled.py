"""Loading of the compiled kernels."""

from __future__ import annotations

import subprocess
import sys

from embodied_iqa.kinematics.compiled import compiled


def test_importing_the_package_does_not_import_numba():
    code = "import sys, embodied_iqa.kinematics as k; k.Kinematics(); print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_where_no_folder_can_hold_the_cache_the_code_still_compiles():
    space: dict = {}
    exec("def double(x):\n    return 2 * x\n", space)  # a function without a file has no place for a cache
    assert compiled(space["double"])(21) == 42
