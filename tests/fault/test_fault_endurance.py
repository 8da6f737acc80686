"""Trials one after another on one graph leave nothing behind and lose no image."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from embodied_iqa.base.resources import source_checkout
from live_process import TRIAL_S, completed


@pytest.mark.stress
def test_two_trials_leak_nothing_and_lose_no_image(tmp_path: Path) -> None:
    checkout = source_checkout()
    assert checkout is not None
    results, page = tmp_path / "soak.jsonl", tmp_path / "page.md"
    page.write_text("before\n<!-- bench_soak -->\n<!-- end of bench_soak -->\n", encoding="utf-8")
    (tmp_path / "images").mkdir()
    words = ["--minutes", "0.1", "--lockstep", "--size", "320", "240", "--every", "2", "--json", str(results)]
    limits = [
        "--page",
        str(page),
        "--set",
        "trial_node.run_limit_s=3.0",
        "--set",
        "sim_node.lockstep_timeout_s=60.0",
    ]
    command = [sys.executable, str(checkout / "benchmarks" / "bench_soak.py"), *words, *limits]
    completed(command, tmp_path, TRIAL_S)
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    first, last = (line for line in lines if line["kind"] == "trial")
    assert [first["error"], last["error"]] == ["", ""]
    drawn = last["counts"]["drawn"] - first["counts"]["drawn"]
    assert drawn > 100
    for count in ("due", "distorted", "judged"):
        assert last["counts"][count] - first["counts"][count] == drawn, count
    assert all(trial[kind] == 0 for trial in (first, last) for kind in ("skipped", "dropped"))
    assert last["descriptors"] == first["descriptors"]
    assert last["segments"] == first["segments"]
    end = lines[-1]
    assert end["kind"] == "end"
    assert end["left_processes"] == []
    assert "| gate_node | " in page.read_text(encoding="utf-8")
    assert "<polyline" in (tmp_path / "images" / "soak.svg").read_text(encoding="utf-8")
