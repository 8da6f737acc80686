"""Compiling and lazily importing the kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


def test_a_stored_kernel_is_loaded_without_what_compiles_and_one_that_calls_it_still_compiles(tmp_path: Path):
    (tmp_path / "stored.py").write_text(
        "import sys\n"
        "import numpy as np\n"
        "from embodied_iqa.base.kinematics.kernels import compiled\n"
        "@compiled\n"
        "def inner(x):\n"
        "    y = np.empty(2)\n"
        "    y[0], y[1] = x[0] + 0.1, x[0] * 3.0\n"
        "    return y\n"
        "@compiled\n"
        "def outer(x):\n"
        "    return inner(inner(x))\n"
        "called = [globals()[word] for word in sys.argv[1:]]\n"
        "print(*(number.hex() for kernel in called for number in kernel(np.ones(1))), file=sys.stderr)\n"
        "print('numba.np.linalg' in sys.modules, *(sum(f.stats.cache_hits.values()) for f in called))\n",
        encoding="utf-8",
    )

    def said(*words: str) -> tuple[str, str]:
        command = [sys.executable, str(tmp_path / "stored.py"), *words]
        variables = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
        return done.stderr, done.stdout.strip()

    numbers, how = said("inner")
    assert (numbers.split(), how) == ([(1.1).hex(), (3.0).hex()], "True 0")
    assert said("inner") == (numbers, "False 1")
    both, how = said("inner", "outer")
    assert (both.split()[2:], how) == ([(1.1 + 0.1).hex(), (1.1 * 3.0).hex()], "True 1 0")
    assert said("inner", "outer") == (both, "False 1 1")
