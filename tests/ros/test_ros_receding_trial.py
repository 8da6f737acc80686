"""A whole trial with a receding horizon: one motion through its chunks, and what its recording gives."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from test_runtime_parity_trial import PLAIN, first

from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.cli.main import main
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import RunRecord
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.models.subjects.reference import parse_vla, parse_vlm
from embodied_iqa.models.subjects.registry import make_vla, make_vlm
from embodied_iqa.quality.gate.judgement import JudgeChoice
from embodied_iqa.quality.gate.judges import shared_judge
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.offline.headless.options import HeadlessOptions
from embodied_iqa.runs.offline.headless.run import Cell, HeadlessRun
from embodied_iqa.runs.offline.rescoring import Rescorer, Subjects
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import parse_instruction
from live_process import TRIAL_S, completed
from live_trial import SCENE_SEED, TASK, VLM, small_images, words_of

NOISE = DistortionSpec("12", 2)
CHUNKS, SPEED_MPS = 6, 0.05
VLA = "python:upwards:Upwards"
UPWARDS = f"""
import numpy as np

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo


class Upwards:
    info = SubjectInfo("upwards", "1", "Moves up by ten even steps at 15 Hz.", (View.TOP,), rate_hz=15.0)

    def act(self, observation):
        if observation.step >= {CHUNKS}:
            return ActionChunk.still(ChunkStatus.DONE, "done")
        increments = np.zeros((10, 7))
        increments[:, 2] = -{SPEED_MPS} / 15.0
        increments[:, 5] = observation.frames[View.TOP].rgb.mean() / 1e6
        return ActionChunk(ChunkStatus.ACT, increments, "moves up")
"""
HORIZON = {"vla_node.horizon.mode": "receding", "vla_node.horizon.step_rate_hz": 15.0}


def headless(parameters: dict[str, object]) -> list[RunRecord]:
    options = HeadlessOptions(resolve((), parameters))
    nodes, scene = options.nodes, make_scene(SCENE_SEED, parse_instruction(TASK))
    arm, plan = nodes.arm_node, options.plan(TASK, SCENE_SEED, (NOISE,))
    with SceneRenderer(scene, nodes.camera_node.width_px, nodes.camera_node.height_px) as renderer:
        cell = Cell(
            World(scene),
            renderer,
            make_controller(arm.limits, arm.controller, arm.tool_length_m),
            shared_judge(JudgeChoice(), nodes.gate_node.calibration),
            make_vla(parse_vla(VLA)),
            make_vlm(parse_vlm(VLM)),
        )
        return [HeadlessRun(cell, options, plan, index).record() for index in range(plan.run_count)]


def speeds_mps(recording: Path, run: RunRecord) -> np.ndarray:
    """Commanded speeds of the tool in a live run, as arm_node reports them."""
    with TrialReader(recording) as reader:
        statuses = [reader.decode(message) for message in reader.messages(["/arm/status"])]
    stamps_ns = [1_000_000_000 * s.header.stamp.sec + s.header.stamp.nanosec for s in statuses]
    return np.array(
        [
            status.tool_speed
            for stamp_ns, status in zip(stamps_ns, statuses, strict=True)
            if run.start_ns <= stamp_ns <= run.end_ns
        ]
    )


def assert_same(run: RunRecord, rescored: RunRecord, headless: RunRecord) -> None:
    """All of a live run is that of its rescoring; the first decision is that of a headless run."""
    assert rescored.verdicts == run.verdicts
    assert rescored.answers == run.answers
    assert len(rescored.chunks) == len(run.chunks)
    for said, same in zip(run.chunks, rescored.chunks, strict=True):
        assert said.increments.tobytes() == same.increments.tobytes()
        for name in (*PLAIN, "sequence", "source"):
            assert getattr(said, name) == getattr(same, name), name
    for source in Source:
        one, same = first(run, source), first(headless, source)
        assert one.increments.tobytes() == same.increments.tobytes()
        assert one.T_base_tool.tobytes() == same.T_base_tool.tobytes()
    arm = [chunk for chunk in run.chunks if chunk.source is Source.DISTORTED]
    assert max(chunk.step for chunk in arm) >= CHUNKS, "so many chunks were executed"


def words_on(recording: Path, run: RunRecord) -> str:
    """Return how evenly the tool moved; on a busy machine chunks are late, and the arm rests."""
    speeds = speeds_mps(recording, run)
    steady = np.flatnonzero(speeds >= 0.95 * SPEED_MPS)
    moves = "never comes to its steady speed"
    if steady.size:
        between = speeds[steady[0] : steady[-1] + 1] / SPEED_MPS
        moves = f"moves at {between.min():.0%} to {between.max():.0%} of its steady speed"
    arm = [chunk.stamp_ns for chunk in run.chunks if chunk.source is Source.DISTORTED]
    apart_s = np.round(np.diff(arm) / 1e9, 2).tolist()
    return (
        f"{len(arm)} decisions {apart_s} s apart, {2 * len(arm) - len(run.chunks)} references skipped; "
        f"the tool {moves}"
    )


@pytest.mark.stress
def test_ten_nodes_move_through_all_chunks_and_the_recording_gives_the_same_again(
    ros_domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No number here depends on how fast the machine answers: a chunk that is late is asked for again."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "upwards.py").write_text(UPWARDS, encoding="utf-8")
    folder, parameters = tmp_path / "run", {**HORIZON, **small_images(tmp_path)}
    words = ["--task", TASK, "--scene-seed", str(SCENE_SEED), "--distortion", f"{NOISE.id}:{NOISE.level}"]
    words += ["--vla", VLA, "--vlm", VLM, "--gate", "shadow", "--json", "--out", str(folder)]
    search_path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "embodied_iqa.cli.main", "trial", *words, *words_of(parameters)]
    variables = {"ROS_DOMAIN_ID": str(ros_domain), "PYTHONPATH": search_path}
    scores = json.loads(completed(command, tmp_path / "logs", TRIAL_S, variables).stdout)
    nodes = {file.stem for file in (folder / "log").glob("*_node.log")}
    assert {"vla_node", "arm_node", "gate_node", "sim_node"} <= nodes

    recording = folder / "trial.mcap"
    own = {"gate_node.judge.mode": "shadow", "vla_node.subject": VLA}
    options = HeadlessOptions(resolve((), own | parameters))
    gate = options.nodes.gate_node
    subjects = Subjects(
        vlm=lambda name: make_vlm(parse_vlm(name)),
        vla=lambda _name: make_vla(parse_vla(VLA)),
        judge=shared_judge(gate.judge.kind, gate.calibration),
        gate=gate.judge,
    )
    rescorer = Rescorer(recording, subjects)
    rescored = rescorer.record().runs
    assert not rescorer.failures
    ours = headless(own | parameters)
    for run, again, first_ones in zip(read_trial(recording).runs, rescored, ours, strict=True):
        assert_same(run, again, first_ones)
        print(len(nodes), "nodes,", words_on(recording, run))  # noqa: T201 - for who runs it
    words = ["--out", str(tmp_path / "again"), "--calibration", str(parameters["gate_node.calibration"])]
    assert main(["rescore", str(recording), *words]) == 0
    again = json.loads((tmp_path / "again" / "scores.json").read_text(encoding="utf-8"))
    assert again["runs"] == scores["runs"]
