"""Runs of an experiment in a world other than the simulated cell: a suite of LIBERO, or one of your own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.plugins import PluginGroup, find_plugin, plugin_names
from embodied_iqa.base.user_code import PREFIX, load_factory, own_code
from embodied_iqa.data.database.run_rows import RunRow
from embodied_iqa.data.recording.trial_record import RunRecord
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.registry import make_vla, make_vlm, single_policy
from embodied_iqa.models.subjects.subject_options import VlaOptions
from embodied_iqa.quality.gate.calibration_file import shared_gate_file
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import ImageJudge, JudgeKind
from embodied_iqa.runs.episodes.episode_run import Episode, EpisodeRun, check_policy
from embodied_iqa.runs.episodes.rollout_time import RolloutTime, measure_rollout
from embodied_iqa.runs.experiment.arms import GateArm
from embodied_iqa.runs.experiment.experiment_plan import TASKS, ExperimentTask, RunKey
from embodied_iqa.runs.experiment.headless_runs import judge_of
from embodied_iqa.runs.experiment.rows import row_of
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.world.libero.suite_world import LiberoWorld
from embodied_iqa.world.libero.suites import AGENTVIEW, HORIZONS, REPLAN_STEPS, SIDE_PX, check_suite
from embodied_iqa.world.protocols import Vla, close_subject
from embodied_iqa.world.simulation.cell_world import CellWorld
from embodied_iqa.world.worlds import CELL, World, WorldTask, check_state, task_named


def open_world(name: str) -> World:
    """Open a world by name.

    Args:
        name: ``cell`` with the ten tasks of experiments, a suite such as ``libero_spatial``, a plug-in, or
            ``python:module:factory``.

    Raises:
        UsageError: There is none of this name.
        InputError: It is not installed, or cannot be loaded.
    """
    if name == CELL:
        return CellWorld(TASKS)
    check_world(name)
    if name in HORIZONS:
        return LiberoWorld(name)
    plugin = find_plugin(PluginGroup.WORLDS, name)
    factory = load_factory(name.removeprefix(PREFIX)) if plugin is None else plugin.load()
    with own_code(f"the world {name} cannot be made"):
        world = factory()
    lacking = sorted(word for word in vars(World) if not word.startswith("_") and word not in dir(world))
    if lacking:
        raise InputError(f"what {name} makes is not a World; it lacks {', '.join(lacking)}")
    made: World = world
    return made


def check_world(name: str) -> None:
    """Refuse a name of no world but the cell; nothing is loaded.

    Raises:
        UsageError: There is none of this name.
    """
    if not name.startswith(PREFIX) and find_plugin(PluginGroup.WORLDS, name) is None:
        check_suite(name, CELL, *plugin_names(PluginGroup.WORLDS))


@cache
def judged_camera(name: str) -> tuple[View, int, int]:
    """Return the camera of a world that the gate judges, its first one, and the size of its images [px].

    Raises:
        UserError: The world cannot be opened.
    """
    if name in HORIZONS:
        return AGENTVIEW, SIDE_PX, SIDE_PX
    with closing(open_world(name)) as world:
        view = world.views[0]
        world.open(world.tasks[0], 0)
        height_px, width_px = world.observe([view]).frames[view].rgb.shape[:2]
        return view, width_px, height_px


@dataclass(frozen=True, slots=True)
class WorldOptions:
    """Parameters of runs in a world.

    Attributes:
        world: Its name.
        nodes: Parameters of gate_node, vla_node and vlm_node are used.
        replan_steps: See `Episode`.
    """

    world: str
    nodes: GraphParameters
    replan_steps: int = REPLAN_STEPS

    def vla_options(self, views: Sequence[View]) -> VlaOptions:
        """Return the options of policies in a world with these cameras."""
        options = self.nodes.vla_node.options
        policy = replace(options.policy, views=options.policy.views or ",".join(views))
        return replace(options, policy=policy)

    def make_vla(self, world: World, reference: SubjectReference) -> Vla:
        """Make a policy, whose cameras are those of the world unless they are set.

        Raises:
            UserError: It cannot be loaded or reached, or does not fit the world.
        """
        vla = make_vla(single_policy(reference), self.vla_options(world.views))
        try:
            check_policy(world, vla.info)
        except UsageError:
            close_subject(vla)
            raise
        return vla


def parse_world_tasks(
    world: World, count: int | None, names: Sequence[str], first_state: int, states: int
) -> tuple[ExperimentTask, ...]:
    """Return the first tasks of a world, or those named, each in so many initial states.

    Args:
        world: The world.
        count: The first tasks; None for all.
        names: Of tasks, instead of a count; instructions, see `WorldTask.name`.
        first_state: The first initial state.
        states: Number of initial states of each task.

    Raises:
        UsageError: No such task or initial state, or both a count and names.
    """
    if count is not None and names:
        raise UsageError("both a number of tasks and tasks", expected="--first-tasks or --task, not both")
    if count is not None and not 1 <= count <= len(world.tasks):
        most = len(world.tasks)
        raise UsageError(f"{world.name} has {most} tasks", expected=f"1 to {most}, or --task", got=count)
    if states < 1:
        raise UsageError("invalid number of scenes", expected="1 or more", got=states)
    if len(set(names)) < len(names):
        raise UsageError("duplicate task", got=names)
    tasks = [task_named(world, name) for name in names] or world.tasks[:count]
    for task in tasks:
        for state in (first_state, first_state + states - 1):
            check_state(task, state)
    return tuple(ExperimentTask(task.name, first_state + index) for index in range(states) for task in tasks)


class WorldRunner:
    """Executes runs one after another; keeps the world and the policies until it is closed.

    Args:
        options: Parameters of every run.
        vlm: VLM that describes the first image of each run; None for none.
    """

    def __init__(self, options: WorldOptions, vlm: SubjectReference | None = None) -> None:
        self._options = options
        self._vlas: dict[SubjectReference, Vla] = {}
        self._gate = cache(self._make_gate)
        # a wrong VLM is refused before the world starts, which takes long
        self._vlm = make_vlm(vlm, options.nodes.vlm_node.options) if vlm is not None else None
        try:
            self._world = open_world(options.world)
        except BaseException:
            close_subject(self._vlm)
            raise

    def run(self, key: RunKey) -> RunRow:
        """Execute one run."""
        return row_of(key, self.record(key))

    def record(self, key: RunKey) -> RunRecord:
        """Execute one run and return its full record."""
        return EpisodeRun(self._episode(key)).record()

    def time_of(self, key: RunKey) -> RolloutTime:
        """Measure what a rollout like this run takes."""
        return measure_rollout(self._episode(key))

    def close(self) -> None:
        """End the world and release the policies."""
        self._world.close()
        for subject in (*self._vlas.values(), self._vlm):
            close_subject(subject)

    def _episode(self, key: RunKey) -> Episode:
        gate, judge = self._gate(key.arm, key.subject)
        return Episode(
            world=self._world,
            task=self._task(key),
            state=key.task.scene_seed,
            vla=self._vla(key.subject),
            judge=judge,
            gate=gate,
            distortion=key.distortion,
            replan_steps=self._options.replan_steps,
            vlm=self._vlm,
        )

    def _task(self, key: RunKey) -> WorldTask:
        return task_named(self._world, key.task.task)

    def _vla(self, reference: SubjectReference) -> Vla:
        if reference not in self._vlas:
            self._vlas[reference] = self._options.make_vla(self._world, reference)
        return self._vlas[reference]

    def _make_gate(self, arm: GateArm, subject: SubjectReference) -> tuple[GateOptions, ImageJudge | None]:
        """Return the rules of an arm and its judge, None for the oracle."""
        nodes = self._options.nodes
        policy = nodes.vla_node.options.policy_name(subject)
        gate = nodes.gate_node
        gate = replace(gate, judge=arm.options(gate.judge), policy=policy)
        return gate.judge, None if arm.is_oracle else judge_of(gate)


def check_judge(calibration: str, rules: GateOptions, world: str) -> None:
    """Refuse a judge that knows nothing of the images of a world.

    One of statistics would reject every image, a fitted one would judge by statistics alone.

    Args:
        calibration: The gate's file.
        rules: Of the gate.
        world: Name of the world.

    Raises:
        UsageError: It was not calibrated or fitted to its camera at this size.
    """
    if rules.mode is GateMode.OFF:
        return
    file, camera = shared_gate_file(calibration), judged_camera(world)
    known, how = {(item.view, item.width_px, item.height_px) for item in file.cameras}, "calibrate"
    if camera in known and rules.kind.kind is not JudgeKind.STATISTICS:
        known, how = {gate.camera for gate in file.fitted if gate.choice == rules.kind}, "fit"
    if camera not in known:
        raise UsageError(
            f"the gate {rules.kind} knows no images of the camera {camera[0]} at {camera[1]}x{camera[2]}",
            expected=f"--calibration FILE of `embodied-iqa gate {how}` on images of this world",
            got=str(file.path),
        )
