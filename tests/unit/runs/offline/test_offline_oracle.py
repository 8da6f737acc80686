"""The oracle passes exactly while the level in force is 0."""

from __future__ import annotations

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.distortions import DistortionSpec, FrameDistorter
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.runs.experiment.arms import ORACLE
from embodied_iqa.runs.offline.oracle import OracleGatekeeper
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

_START_NS = 5 * SECOND_NS


def test_it_passes_exactly_while_the_level_in_force_is_zero() -> None:
    spec = DistortionSpec("12", 4, schedule="burst:start=0.5,length=1,every=2")
    oracle = OracleGatekeeper(FrameDistorter(spec, _START_NS), ORACLE.options(GateOptions()))
    assert not oracle.measures
    seen = set()
    for at in range(90):
        stamp_ns = _START_NS + at * SECOND_NS // 15
        quality, lease = oracle.judge(View.TOP, stamp_ns, None, stamp_ns)
        level = spec.level_at(stamp_ns - _START_NS)
        assert (lease.verdict is Verdict.PASS) == (level == 0)
        assert quality.reason == ("" if level == 0 else "distorted at level 4")
        seen.add(level)
    assert seen == {0, 4}


def test_it_passes_all_of_a_run_without_distortion() -> None:
    oracle = OracleGatekeeper(FrameDistorter(None, 0), ORACLE.options(GateOptions()))
    leases = [oracle.judge(View.WRIST, at, None, at)[1] for at in range(1, 20)]
    assert all(lease.verdict is Verdict.PASS for lease in leases)


def test_it_passes_the_cameras_that_are_not_distorted() -> None:
    spec = DistortionSpec("12", 4, schedule="burst:start=0,length=9,view=top")
    oracle = OracleGatekeeper(FrameDistorter(spec, _START_NS), ORACLE.options(GateOptions()))
    for view in CELL_VIEWS:
        _, lease = oracle.judge(view, _START_NS, None, _START_NS)
        assert (lease.verdict is Verdict.PASS) == (view != View.TOP)
