"""Runs of an experiment in simulation, in this process or in several."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from typing import Protocol, TypeVar

from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.jobs.engine import EngineKind, EngineOptions, run_jobs
from embodied_iqa.base.kept import lent
from embodied_iqa.data.database.run_rows import RunRow
from embodied_iqa.data.recording.trial_record import RunRecord
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.registry import make_vla, make_vlm
from embodied_iqa.quality.gate.judgement import ImageJudge
from embodied_iqa.quality.gate.judges import shared_judge
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from embodied_iqa.runs.experiment.arms import GateArm
from embodied_iqa.runs.experiment.experiment_plan import ExperimentTask, RunKey
from embodied_iqa.runs.experiment.rows import row_of
from embodied_iqa.runs.graph.camera_parameters import check_policy_cameras
from embodied_iqa.runs.graph.parameters import GateParameters
from embodied_iqa.runs.offline.headless.options import HeadlessOptions
from embodied_iqa.runs.offline.headless.run import Cell, HeadlessRun
from embodied_iqa.world.protocols import Vla, close_subject
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.simulation.renderer import Closable, SceneRenderer
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import parse_instruction


class HeadlessRunner(Closable):
    """Executes runs one after another; keeps the world and the renderer of the last scene until it is closed.

    Bound to the thread that made its first run, as its graphics context is.

    Args:
        options: Parameters of every run.
        vlm: VLM that describes the first frame of each run; None for none.
    """

    def __init__(self, options: HeadlessOptions, vlm: SubjectReference | None = None) -> None:
        self._options = options
        nodes = options.nodes
        arm = nodes.arm_node
        self._model = arm.check_model()
        self._controller = make_controller(arm.limits, arm.controller, arm.tool_length_m, self._model)
        self._gate = cache(self._make_gate)
        self._vla = cache(self._make_vla)
        self._vlm = make_vlm(vlm, nodes.vlm_node.options) if vlm is not None else None
        self._task: ExperimentTask | None = None
        self._world: World | None = None
        self._renderer: SceneRenderer | None = None

    def run(self, key: RunKey) -> RunRow:
        """Execute one run."""
        return row_of(key, self.record(key))

    def record(self, key: RunKey) -> RunRecord:
        """Execute one run and return its full record."""
        spec = key.distortion
        options, judge = self._gate(key.arm, key.subject)
        plan = options.plan(key.task.task, key.task.scene_seed, () if spec is None else (spec,))
        cell = self._cell(key.task, self._vla(key.subject), judge)
        return HeadlessRun(cell, options, plan, 0 if spec is None else 1).record()

    def watch(self, key: RunKey, judge: ImageJudge, limit_s: float) -> RunRecord:
        """Execute the beginning of a run with a judge that only looks at the images of the policy's camera.

        Args:
            key: The run; its arm does not count.
            judge: Sees every image; the arm does not obey it.
            limit_s: The run ends here [s].
        """
        nodes, vla, spec = self._options.nodes, self._vla(key.subject), key.distortion
        rules = replace(nodes.gate_node.judge, mode=GateMode.SHADOW)
        gate = replace(nodes.gate_node, judge=rules, views=vla.info.views[:1])
        trial = replace(nodes.trial_node, run_limit_s=limit_s)
        options = replace(self._options, nodes=replace(nodes, gate_node=gate, trial_node=trial))
        plan = options.plan(key.task.task, key.task.scene_seed, () if spec is None else (spec,))
        return HeadlessRun(self._cell(key.task, vla, judge), options, plan, 0 if spec is None else 1).record()

    def _make_vla(self, subject: SubjectReference) -> Vla:
        nodes = self._options.nodes
        vla = make_vla(subject, nodes.vla_node.options)
        try:
            check_policy_cameras(subject, vla.info.views, nodes.camera_node.views)
        except UsageError:
            close_subject(vla)
            raise
        return vla

    def _make_gate(
        self, arm: GateArm, subject: SubjectReference
    ) -> tuple[HeadlessOptions, ImageJudge | None]:
        """Return the options of an arm and its judge, None for the oracle."""
        nodes = self._options.nodes
        policy = nodes.vla_node.options.policy_name(subject)
        gate = replace(nodes.gate_node, judge=arm.options(nodes.gate_node.judge), policy=policy)
        options = replace(self._options, nodes=replace(nodes, gate_node=gate))
        return options, None if arm.is_oracle else judge_of(gate)

    def _cell(self, task: ExperimentTask, vla: Vla, judge: ImageJudge | None) -> Cell:
        if task != self._task or self._world is None or self._renderer is None:
            scene = make_scene(task.scene_seed, parse_instruction(task.task), self._model)
            self._task = None
            if self._world is None or self._renderer is None:
                camera = self._options.nodes.camera_node
                self._world = World(scene)
                self._renderer = SceneRenderer(scene, camera.width_px, camera.height_px)
            else:
                self._world.reset(scene)
                self._renderer.load(scene)
            self._task = task
        return Cell(self._world, self._renderer, self._controller, judge, vla, self._vlm)


def judge_of(gate: GateParameters) -> ImageJudge:
    """Return the judge of a gate; one that is off measures nothing."""
    if gate.judge.mode is GateMode.OFF:
        return StatisticsJudge(())
    return shared_judge(gate.judge.kind, gate.calibration, gate.policy)


def run_all(
    keys: Sequence[RunKey],
    options: HeadlessOptions,
    *,
    vlm: SubjectReference | None = None,
    engine: EngineOptions | None = None,
) -> Generator[tuple[RunKey, RunRow], None, None]:
    """Execute runs in the simulated cell; see `run_with`.

    Args:
        keys: The runs, those of one scene together.
        options: Parameters of every run.
        vlm: See :class:`HeadlessRunner`.
        engine: What runs them; by default this process.
    """
    return run_with(partial(HeadlessRunner, options, vlm), keys, engine or EngineOptions())


class Runner(Protocol):
    """Executes runs one after another, and keeps what it opens until it is closed."""

    def run(self, key: RunKey) -> RunRow:
        """Execute one run."""
        ...

    def close(self) -> None:
        """Release what it has opened."""
        ...


RunnerT = TypeVar("RunnerT", bound=Runner)


def run_with(
    make: partial[RunnerT], keys: Sequence[RunKey], engine: EngineOptions
) -> Generator[tuple[RunKey, RunRow], None, None]:
    """Execute runs and yield each one when it is done, in any order.

    Args:
        make: A class of runners with its arguments, which can be hashed.
        keys: The runs, those of one scene together.
        engine: What runs them; one process is this one, whose runner closing the generator closes.
    """
    if (engine.workers == 1 and engine.kind is EngineKind.PROCESSES) or len(keys) < 2:
        with closing(make()) as runner:
            for key in keys:
                yield key, runner.run(key)
        return
    yield from run_jobs([partial(_run, make, key) for key in keys], engine)


def _run(make: partial[RunnerT], key: RunKey) -> tuple[RunKey, RunRow]:
    """Execute a run with the runner that this worker keeps."""
    with lent((make.func, make.args), make) as runner:
        return key, runner.run(key)
