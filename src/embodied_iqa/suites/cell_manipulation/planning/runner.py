"""A run: all episodes of a benchmark with one planner, in arms; continues where it was interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from embodied_iqa import __version__
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.files import remove_parts, sha256_of, write_json_whole, write_text_whole
from embodied_iqa.base.jobs.engine import BlockReport, EngineOptions, Job, run_jobs
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.jobs.plan import another_plan, differences
from embodied_iqa.base.records import unstructure
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.imaging.distortions.stream import FrameDistorter
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.registry import PLANNER_OPTIONS, make_planner
from embodied_iqa.models.subjects.subject_options import VlmOptions
from embodied_iqa.quality.gate.calibration_file import load_gate_file
from embodied_iqa.quality.gate.judgement import ImageJudge, JudgeKind, parse_judge
from embodied_iqa.quality.gate.judges import load_judge
from embodied_iqa.suites.cell_manipulation.environment import Environment, EnvironmentOptions
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Episode, Subset
from embodied_iqa.suites.cell_manipulation.making import make_episodes
from embodied_iqa.suites.cell_manipulation.planning.arms import Arm, ArmCamera
from embodied_iqa.suites.cell_manipulation.planning.loop import EpisodeLoop
from embodied_iqa.suites.cell_manipulation.planning.planner_options import (
    Coordinates,
    GateArm,
    LoopOptions,
    PromptOptions,
)
from embodied_iqa.suites.cell_manipulation.planning.planner_results import (
    PLAN_FILE,
    SubsetSummary,
    config_text,
    subset_folder,
    transcript_file,
    write_episode,
    write_summaries,
)
from embodied_iqa.suites.cell_manipulation.planning.prompt import Example, Image
from embodied_iqa.suites.cell_manipulation.planning.seeing import annotated, see
from embodied_iqa.world.protocols import Planner

_SEED: Final = 2_000_003
"""Of the examples' episodes: no benchmark has it."""
_VISUAL: Final = 2


def examples_for(task: CellTask, options: PromptOptions, size_px: int) -> tuple[Example, ...]:
    """Return the examples of a task: text, or two with images by the option ``visual_examples``."""
    if options.visual_examples:
        return _solved(task, _VISUAL, size_px, options.boxes)
    return _solved(task, options.shots, 0, boxes=False)


@cache
def _solved(task: CellTask, count: int, size_px: int, boxes: bool) -> tuple[Example, ...]:  # noqa: FBT001 - a key of the cache
    if not count:
        return ()
    views = (View.TOP,) if size_px else ()
    with Environment(EnvironmentOptions(views, size_px or 1)) as environment:
        own = (episode for episode in make_episodes((Subset.BASE,), _SEED) if episode.task is task)
        return tuple(_example(environment, episode, boxes) for episode in islice(own, count))


def _example(environment: Environment, episode: Episode, boxes: bool) -> Example:  # noqa: FBT001 - as above
    observation = environment.reset(episode)
    prompt = PromptOptions(boxes=boxes, coordinates=Coordinates.TRUTH)
    sighting = see(observation, prompt, FrameDistorter(None))
    objects = tuple(item.bins for item in observation.objects)
    plan = tuple(environment.expert_plan())
    return Example(episode.instruction, objects, plan, annotated(sighting, prompt))


_CONFIG: Final = "config.txt"
_BLOCK: Final = 4
"""Episodes of a job: little is lost when a run is killed."""
Progress = Callable[[int, int], object]
"""Called with the number of finished episodes and of all."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run's results depend on, besides the episodes.

    Attributes:
        planner: The planner.
        arms: Distortions and gates.
        loop: What the planner is shown, and the rules.
        size_px: Width and height of the images.
        judge: Name of the gate's judge.
        gate_file: The gate's calibration; None without a gate.
        options: How the planner is loaded, reached and queried.
        keep_images: Keep the images that the planner gets.
    """

    planner: SubjectReference
    arms: tuple[Arm, ...]
    loop: LoopOptions = field(default_factory=LoopOptions)
    size_px: int = 500
    judge: str = "statistics"
    gate_file: Path | None = None
    options: VlmOptions = PLANNER_OPTIONS
    keep_images: bool = False

    def __post_init__(self) -> None:
        gated = any(arm.gate is not GateArm.OFF for arm in self.arms)
        if gated and self.gate_file is None:
            raise UsageError("a condition with a gate", expected="the calibration of a gate (--calibration)")
        sees = not self.loop.prompt.language_only or self.loop.prompt.coordinates is Coordinates.DETECTOR
        if gated and not sees:
            raise UsageError("a gate without images", expected="a run that uses images")

    @property
    def views(self) -> tuple[View, ...]:
        """Images that the run needs."""
        prompt = self.loop.prompt
        if prompt.language_only and prompt.coordinates is not Coordinates.DETECTOR:
            return ()
        return (View.TOP, View.WRIST) if prompt.multiview else (View.TOP,)

    def tree(self) -> dict[str, Any]:
        """Return what must be the same when a run is continued; arms and episodes may be added."""
        return {
            "planner": self.planner.text,
            "decoding": unstructure(self.options.decoding),
            "loop": unstructure(self.loop),
            "size_px": self.size_px,
            "judge": self.judge if self.gate_file else "",
        }


def run_benchmark(
    episodes: Sequence[Episode], out: Path, plan: RunPlan, engine: EngineOptions, progress: Progress
) -> dict[tuple[str, Subset], SubsetSummary]:
    """Run what is missing, write the summaries and return them.

    Args:
        episodes: The episodes.
        out: New, or the folder of a run of the same plan.
        plan: The plan.
        engine: What runs the jobs.
        progress: Observes the progress.

    Raises:
        UsageError: The folder holds a run of another plan.
        InputError: A file is damaged, or another process works in the folder. Finished episodes are kept.
        UserError: The planner cannot be reached.
    """
    check_gate(plan)
    out, plan = out.resolve(), _anywhere(plan)
    check_run(out, plan, episodes)  # a folder that is refused stays as it was
    with _folder(out).locked():
        check_run(out, plan, episodes)  # another process may have worked in it since
        missing = {
            arm: [one for one in episodes if not transcript_file(out, arm.name, one).is_file()]
            for arm in plan.arms
        }
        total = len(episodes) * len(plan.arms)
        done = total - sum(map(len, missing.values()))
        remove_parts(out)
        if not _has_results(out):
            for stale in out.rglob(_CONFIG):  # of a run that failed before its first episode
                stale.unlink()
        tree = plan.tree()
        write_json_whole(out / PLAN_FILE, {"version": __version__, **tree} | _known_judge(out, plan))
        for path, config in _configs(out, plan, episodes):
            write_text_whole(path, config_text(tree | config))
        progress(done, total)
        for report in run_jobs(_jobs(out, plan, missing), engine):
            done += report.rows
            progress(done, total)
        return write_summaries(out, as_published=plan.loop.as_published)


def check_gate(plan: RunPlan) -> None:
    """Check that the gate's file is of the front camera at the size of the images, and has a fit if needed.

    Raises:
        UserError: It is not, or it cannot be read.
    """
    if plan.gate_file is None:
        return
    file, choice = load_gate_file(plan.gate_file), parse_judge(plan.judge)
    camera, size = (View.TOP, plan.size_px, plan.size_px), f"{plan.size_px}x{plan.size_px}"
    known = {(one.view, one.width_px, one.height_px) for one in file.cameras}
    command = "embodied-iqa gate calibrate"
    if choice.kind is not JudgeKind.STATISTICS:
        known &= {one.camera for one in file.fitted if one.choice == choice}
        command = "embodied-iqa manipulate fit"
    if camera not in known:
        shown = ", ".join(f"{view} at {width}x{height}" for view, width, height in sorted(known)) or "none"
        wanted = f"the front camera (top) at {size}, by `{command}`"
        raise InputError(f"no gate by {choice} in {plan.gate_file}", expected=wanted, got=shown)


def check_run(out: Path, plan: RunPlan, episodes: Sequence[Episode]) -> None:
    """Check that a folder is new, or holds a run of the same plan with these episodes.

    Raises:
        UsageError: It holds a run of another plan.
        InputError: It holds something else, or its plan cannot be read.
    """
    stored = _folder(out).plan()
    if stored is None or not _has_results(out):
        return
    asked = plan.tree()
    if not (stored.get("judge") and asked["judge"]):
        del asked["judge"]  # arms with a gate may be added to those without
    other = differences({key: stored[key] for key in asked if key in stored}, asked)
    for path, config in _configs(out, plan, episodes):
        known = _stored(path)
        other += differences({key: known.get(key, value) for key, value in config.items()}, config)
    if other:
        raise another_plan(out, tuple(dict.fromkeys(other)))


def _folder(out: Path) -> JobFolder:
    return JobFolder(out, "planner run", PLAN_FILE)


def _has_results(out: Path) -> bool:
    return _folder(out).has_results(_CONFIG)


def _known_judge(out: Path, plan: RunPlan) -> dict[str, str]:
    """Return the judge that the record names: that of an earlier arm where this plan has no gate."""
    known = _stored(out / PLAN_FILE) if _has_results(out) else {}
    return {"judge": plan.tree()["judge"] or known.get("judge", "")}


def _stored(path: Path) -> dict[str, Any]:
    """Return a file of an earlier start; nothing if there is none."""
    tree = load_json(path, "the record of a run") if path.is_file() else {}
    if not isinstance(tree, dict):
        raise InputError(f"{path} is not the record of a run", expected="a JSON object")
    return tree


def _configs(out: Path, plan: RunPlan, episodes: Sequence[Episode]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the file of each arm and subset, and what its results depend on besides the plan."""
    gate = sha256_of(plan.gate_file) if plan.gate_file else ""
    seeds_of = {
        subset: sorted({one.seed for one in episodes if one.subset is subset})
        for subset in dict.fromkeys(one.subset for one in episodes)
    }
    for arm in plan.arms:
        for subset, seeds in seeds_of.items():
            config = {
                "arm": arm.name,
                "distortion_seed": None if arm.distortion is None else arm.distortion.seed,
                "gate_sha256": "" if arm.gate is GateArm.OFF else gate,
                "episode_seeds": seeds,
            }
            yield subset_folder(out, arm.name, subset) / _CONFIG, config


def _anywhere(plan: RunPlan) -> RunPlan:
    """Return the plan with whole paths: workers of Ray have another working folder."""
    planner, gate = plan.planner, plan.gate_file
    if planner.is_local_folder:
        planner = replace(planner, target=str(Path(planner.target).expanduser().resolve()))
    return replace(plan, planner=planner, gate_file=None if gate is None else gate.resolve())


def _jobs(out: Path, plan: RunPlan, missing: dict[Arm, list[Episode]]) -> Iterator[Job]:
    number = 0
    for arm, episodes in missing.items():
        for start in range(0, len(episodes), _BLOCK):
            block = tuple(episodes[start : start + _BLOCK])
            yield partial(run_block, out, replace(plan, arms=(arm,)), block, number)
            number += 1


def run_block(out: Path, plan: RunPlan, episodes: tuple[Episode, ...], number: int) -> BlockReport:
    """Run some episodes of one arm in this process.

    Raises:
        UserError: The planner cannot be reached.
    """
    (arm,) = plan.arms
    planner = _planner(plan.planner, plan.options)
    judge = None if arm.gate is GateArm.OFF else _judge(plan.judge, plan.gate_file)
    camera = ArmCamera(arm, plan.loop.prompt, judge)
    with ExitStack() as stack:
        environment = stack.enter_context(Environment(EnvironmentOptions(plan.views, plan.size_px)))
        for episode in episodes:
            images = subset_folder(out, arm.name, episode.subset) / "images"
            keep = partial(_keep, images, f"episode_{episode.index}") if plan.keep_images else _ignore
            loop = EpisodeLoop(planner, environment, camera, plan.loop, keep)
            examples = examples_for(episode.task, plan.loop.prompt, plan.size_px)
            transcript = loop.run(episode, examples, arm.name)
            write_episode(out, transcript, as_published=plan.loop.as_published)
    return BlockReport(number, len(episodes))


@cache
def _planner(reference: SubjectReference, options: VlmOptions) -> Planner:
    """Load a planner once a process."""
    return make_planner(reference, options)


@cache
def _judge(name: str, file: Path | None) -> ImageJudge:
    """Load the gate's judge once a process."""
    if file is None:
        raise InputError("a condition with a gate has no calibration")
    return load_judge(parse_judge(name), file)


def _keep(images: Path, episode: str, step: int, what: str, image: Image) -> None:
    (images / episode).mkdir(parents=True, exist_ok=True)
    write_image(images / episode / f"{episode}_step_{step}_{what}.png", image)


def _ignore(_step: int, _what: str, _image: Image) -> None:
    return
