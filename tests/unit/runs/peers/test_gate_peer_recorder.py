"""Recording of what failure detectors see: the runs of an experiment, repeated without a gate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.runs.experiment.arms import parse_arms
from embodied_iqa.runs.experiment.experiment_plan import ExperimentPlan, parse_distortions, parse_tasks
from embodied_iqa.runs.experiment.folder import ExperimentFolder, StoredExperiment, read_experiment
from embodied_iqa.runs.experiment.headless_runs import HeadlessRunner
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.offline.headless.options import HeadlessOptions
from embodied_iqa.runs.peers import recorder
from embodied_iqa.runs.peers.recorder import SignalRecorder

POLICY = parse_vla("panel-vla-query")


def plan(gates: str) -> ExperimentPlan:
    specs = parse_distortions("19", (5,), 0, ("burst:start=0,length=0.1",))
    return ExperimentPlan((POLICY,), parse_tasks(1, (), 7), specs, parse_arms(gates))


@pytest.fixture(scope="module")
def options() -> HeadlessOptions:
    """The stored runs last somewhat longer than they are watched."""
    short = {"gate_node.judge.mode": "off", "trial_node.run_limit_s": 1.0}
    return HeadlessOptions(resolve((), {"vla_node.subject": POLICY, **short}))


def test_signals_follow_the_schedule_and_belong_to_the_stored_runs(
    tmp_path: Path, options: HeadlessOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "WATCHED_S", 0.4)
    folder = ExperimentFolder(tmp_path, {}, plan("off"))
    with HeadlessRunner(options) as runner:
        for key in folder.missing():
            folder.add(key, runner.run(key))
    clean, dark = SignalRecorder(tmp_path, options).watched(read_experiment(tmp_path))
    assert (clean.clean, dark.clean) == (True, False)
    assert clean.scene == dark.scene
    assert len(clean.signals) == len(dark.signals) == 6
    assert dark.signals.statistics[:2].all()
    assert not dark.signals.statistics[2:].any()
    assert (dark.signals.learned[:2] > clean.signals.learned[:2]).all()
    assert not np.allclose(clean.signals.embeddings[0], dark.signals.embeddings[0])
    assert np.ptp(clean.signals.chunks[0], axis=0).max() < 0.05  # shifted by pixels: nearly the same way
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "signals").iterdir()}
    SignalRecorder(tmp_path, options).watched(read_experiment(tmp_path))
    assert {path: path.stat().st_mtime_ns for path in files} == files


def test_an_experiment_without_runs_of_the_gate_off_is_refused(
    tmp_path: Path, options: HeadlessOptions
) -> None:
    stored = StoredExperiment(plan("learned"), {}, (), 0)
    with pytest.raises(UsageError, match="without a gate"):
        SignalRecorder(tmp_path, options).watched(stored)
