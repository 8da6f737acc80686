"""Functions of the public Python interface; see docs/python.md.

Scores, verdicts and tables are the same as those of the command line, because both call the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.lazy import load
from embodied_iqa.data.analysis.loading import load_attributes, load_grid, runs_of_table
from embodied_iqa.data.analysis.study import Study, study
from embodied_iqa.data.database.joined_runs import joined_execution
from embodied_iqa.data.database.query import query
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.database.store import open_database as open_store
from embodied_iqa.data.lerobot.dataset import LeRobotDataset
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.recorded import RecordedImage
from embodied_iqa.imaging.images.frame import Frame, parse_view
from embodied_iqa.models.scoring.cognition import CognitionScore, score_cognition
from embodied_iqa.models.scoring.decision import DecisionScore, score_decision
from embodied_iqa.models.scoring.frequencies import document_frequencies
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.constants_files import constants_of
from embodied_iqa.models.subjects.reference import parse_reference
from embodied_iqa.models.subjects.registry import make_vla, make_vlm, single_policy
from embodied_iqa.runs.offline.stored_run import ReportedTask, RunContext, load_run
from embodied_iqa.runs.trial.scores import RunScores
from embodied_iqa.world.protocols import Vla, Vlm
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.simulation.camera import DEFAULT_MODEL, parse_camera_model
from embodied_iqa.world.tasks.instruction import parse_instruction


def score_answer(
    answer: str, reference_answer: str, *, subject: str = "", corpus: Iterable[str] = ()
) -> CognitionScore:
    """Score the answer on a distorted image against the answer on the reference image (cognition).

    CIDEr needs the document frequencies of the subject's reference answers: name a calibrated subject, or
    pass all its reference answers.

    Args:
        answer: Answer of a VLM on the distorted image.
        reference_answer: Answer of the same VLM on the reference image for the same task.
        subject: Name of the VLM.
        corpus: Reference answers of the VLM.

    Raises:
        UsageError: Neither or both of ``subject`` and ``corpus``, or no such VLM.
        UncalibratedError: The subject has no constants.
    """
    answers = tuple(corpus)
    if bool(subject) == bool(answers):
        raise UsageError("scoring an answer", expected="either subject or corpus")
    frequencies = document_frequencies(answers) if answers else constants_of(subject).frequencies
    if frequencies is None:
        raise UsageError("not a VLM", got=subject)
    return score_cognition(answer, reference_answer, frequencies)


def score_actions(
    actions: NDArray[np.float64],
    reference_actions: NDArray[np.float64],
    *,
    subject: str = "",
    d_max_m: float | None = None,
    gripper: float = 0.0,
) -> DecisionScore:
    """Score the actions on distorted images against the actions on reference images (decision).

    Args:
        actions: ``(K, 7)`` increments ``(x, y, z, rx, ry, rz, gripper)`` in m, rad and [0, 1]; without
            a row the arm stays where it is.
        reference_actions: ``(L, 7)``, of the same VLA for the same task.
        subject: Name of a calibrated VLA, for its ``d_max_m``.
        d_max_m: Distance that scores 0, above 0 m.
        gripper: State of the gripper before the actions, 0 (open) to 1 (closed).

    Raises:
        UsageError: Neither or both of ``subject`` and ``d_max_m``, or no such VLA.
        UncalibratedError: The subject has no constants.
        InputError: Actions of a wrong shape, or not finite.
    """
    if bool(subject) == (d_max_m is not None):
        raise UsageError("scoring actions", expected="either subject or d_max_m")
    scale_m = constants_of(subject).d_max_m if d_max_m is None else d_max_m
    if scale_m is None:
        raise UsageError("not a VLA", got=subject)
    own, reference = (np.asarray(rows, dtype=np.float64) for rows in (actions, reference_actions))
    return score_decision(own, reference, scale_m, gripper=gripper)


def load_vlm(reference: str) -> Vlm:
    """Return a vision-language model: a name of the catalogue or another reference (docs/subjects.md)."""
    return make_vlm(parse_reference(reference, Role.VLM))


def load_vla(reference: str) -> Vla:
    """Return a vision-language-action model: a name of the catalogue or another reference."""
    return make_vla(single_policy(parse_reference(reference, Role.VLA)))


def simulated_frame(seed: int = 0, view: str = "top", task: str = "", model: str = DEFAULT_MODEL) -> Frame:
    """Return a clean 640 x 480 frame of a simulated scene, with the arm at home.

    Args:
        seed: Seed of the scene.
        view: Camera: ``"top"``, ``"side"`` or ``"wrist"``.
        task: Instruction whose objects the scene contains, such as ``"pick the red cube"``.
        model: Camera model: ``"ideal"`` or ``"d455"``.

    Raises:
        UsageError: An unknown view or camera model, or an instruction with an unknown word.
        MissingDependencyError: No off-screen graphics context.
    """
    chosen, seen = parse_camera_model(model), parse_view(view, CELL_VIEWS)
    scene = make_scene(seed, parse_instruction(task) if task else None)
    snapshot = load("embodied_iqa.world.simulation.world:World")(scene).snapshot()
    with load("embodied_iqa.world.simulation.renderer:SceneRenderer")(scene, 640, 480) as renderer:
        frame = renderer.frame(seen, snapshot)
    taken: Frame = load("embodied_iqa.world.simulation.camera.simulated_cameras:taken")(frame, chosen, seed)
    return taken


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Run:
    """A recorded run.

    Attributes:
        tasks: Each task with its record, its scores and its recording.
        context: Date, versions, seeds and configuration.
    """

    tasks: tuple[ReportedTask, ...]
    context: RunContext

    def __repr__(self) -> str:
        named = ", ".join(dict.fromkeys(task.record.task for task in self.tasks))
        return f"<Run: {len(self.scores)} runs of {named}>"

    @property
    def scores(self) -> tuple[RunScores, ...]:
        """Scores of all runs of all tasks."""
        return tuple(scores for task in self.tasks for scores in task.scores)

    def images(self, view: str = "top", task: int = 0) -> Iterator[RecordedImage]:
        """Iterate over the raw images of a camera in one task.

        Raises:
            UsageError: No such task.
            InputError: The recording has no images of this camera, or is damaged.
        """
        if not 0 <= task < len(self.tasks):
            raise UsageError("no such task", got=task, available=range(len(self.tasks)))
        with TrialReader(self.tasks[task].recording) as reader:
            yield from reader.images([f"/camera/{parse_view(view)}/image_raw"])


def open_run(folder: Path | str) -> Run:
    """Open the folder of a run.

    Raises:
        InputError: A recording or the scores are missing, or they do not match.
    """
    return Run(*load_run(Path(folder)))


def open_lerobot(folder: Path | str) -> LeRobotDataset:
    """Open a LeRobot data set of version 2.0 to 3.0: `steps` and `images` of its `episodes`.

    Raises:
        InputError: The folder is none, of another version, or its descriptions are damaged.
    """
    return LeRobotDataset(Path(folder))


class Database:
    """An annotated database, opened for reading; tables are Arrow tables (`to_pandas()` converts them).

    Args:
        folder: The folder.

    Raises:
        InputError: The folder is not a database.
    """

    def __init__(self, folder: Path | str) -> None:
        self._store: DatabaseStore = open_store(Path(folder))

    @property
    def subjects(self) -> tuple[str, ...]:
        """Names of the subjects."""
        return self._store.subjects()

    def table(self, name: str) -> pa.Table:
        """Return a table: ``references``, ``tasks``, ``pairs``, ``scores`` or ``execution``.

        Raises:
            UsageError: The database has no such table.
            InputError: The file is damaged.
        """
        store, tables = self._store, self._store.tables()
        if name not in tables:
            raise UsageError("no such table", got=name, available=tables)
        readers: dict[str, Callable[[], pa.Table]] = {
            "references": store.references,
            "tasks": store.tasks,
            "pairs": store.pairs,
            "scores": store.scores,
            "execution": partial(joined_execution, store),
        }
        return readers[name]()

    def study(self) -> Study:
        """Return the analysis that `embodied-iqa report` shows: levels, distortions, agreement, opinions.

        Raises:
            InputError: Tables are missing, damaged or inconsistent.
        """
        store, grid = self._store, load_grid(self._store)
        runs = joined_execution(store)
        return study(grid, load_attributes(store, grid.pairs), None if runs is None else runs_of_table(runs))

    def sql(self, text: str) -> pa.Table:
        """Return the result of a SQL query over all tables; ``references`` is called ``refs``.

        The view ``opinions`` holds the mean opinions of each pair as they count in the report; ``scores``
        also has the answers of subjects about views that they are not made for (``own_view`` is false).

        Raises:
            UsageError: DuckDB rejects the query.
        """
        return query(self._store, text)


def open_database(folder: Path | str) -> Database:
    """Open an annotated database for reading.

    Raises:
        InputError: The folder is not a database.
    """
    return Database(folder)
