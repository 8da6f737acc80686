"""Writes the expected values anew; only for a change that is meant to change numbers.

Usage: ``python tests/golden/write_golden.py [GROUP ...]``, in an environment with the package; all groups by
default. The difference in git shows what changed, and the commit message says why.
"""

from __future__ import annotations

import os
import sys


def run(groups: list[str]) -> int:
    """Write some groups or all; return the exit code."""
    os.environ["MUJOCO_GL"] = "egl"
    for library in ("OMP", "OPENBLAS", "MKL"):  # as in the tests
        os.environ[f"{library}_NUM_THREADS"] = "1"
    import golden_files
    from golden_values import GROUPS

    unknown = [name for name in groups if name not in GROUPS]
    if unknown:
        sys.stderr.write(f"unknown group: {unknown[0]}; available: {', '.join(GROUPS)}\n")
        return 2
    golden_files.write("machine", golden_files.machine())
    for name in groups or GROUPS:
        sys.stdout.write(f"{golden_files.write(name, GROUPS[name]())}\n")
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
