"""A few fuzzed inputs for every parser of outside data; `benchmarks/fuzz_parsers.py` tries many more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from embodied_iqa.base.resources import source_checkout
from live_process import TRIAL_S

CASES = 500
SEED = 7


def test_damaged_input_is_a_user_error(tmp_path: Path) -> None:
    checkout = source_checkout()
    assert checkout is not None
    command = [sys.executable, str(checkout / "benchmarks" / "fuzz_parsers.py")]
    command += ["--cases", str(CASES), "--seed", str(SEED), "--json", str(tmp_path / "fuzz.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TRIAL_S, check=False)
    assert done.returncode == 0, done.stdout
    found = json.loads((tmp_path / "fuzz.json").read_text())
    assert sum(found["done"].values()) >= CASES
    assert sum(found["refused"].values()) > CASES // 2, "most of the inputs are damaged"
    assert found["findings"] == []
