"""Computes the values that the files of this folder hold, one function per group."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import golden_files as golden
import golden_images
import numpy as np
import pyarrow.parquet as pq

from embodied_iqa.base.kinematics import TOOL_2F140_M, Kinematics, choose, tool_along_z
from embodied_iqa.base.resources import shared_file
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.run_rows import GateEffects
from embodied_iqa.data.recording.trial_record import RunRecord, TrialRecord
from embodied_iqa.imaging.distortions import (
    LEVELS,
    catalogue,
    distort,
    distort_region,
    miqd_catalogue,
    region_mode,
)
from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.panel.evaluation.clean_scenes import HOME_POSE
from embodied_iqa.models.panel.panel_members import VLA_NAMES, VLM_NAMES
from embodied_iqa.models.panel.samples.draw_samples import sample_scene
from embodied_iqa.models.scoring.cognition import score_cognition
from embodied_iqa.models.scoring.decision import position_scale_m, score_decision
from embodied_iqa.models.scoring.execution_score import Outcome, score_execution
from embodied_iqa.models.scoring.frequencies import document_frequencies
from embodied_iqa.models.subjects.backends.panel.shipped_members import MODELS
from embodied_iqa.models.subjects.backends.panel.vla import LearnedVla
from embodied_iqa.models.subjects.catalogue import Backend, Role, names_of
from embodied_iqa.models.subjects.constants_files import constants_of
from embodied_iqa.models.subjects.reference import parse_vla, parse_vlm
from embodied_iqa.models.subjects.registry import make_vla, make_vlm
from embodied_iqa.quality.gate.calibration import calibrate
from embodied_iqa.quality.gate.calibration_file import load_calibrations
from embodied_iqa.quality.gate.image_statistics import Statistic, measure
from embodied_iqa.quality.gate.judge import GateFrame, GateOptions, GateState, step
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge, judge_image
from embodied_iqa.quality.metrics import BUILT_IN
from embodied_iqa.runs.experiment.experiment_plan import ExperimentTask, RunKey
from embodied_iqa.runs.experiment.headless_runs import HeadlessRunner
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.offline.headless.options import HeadlessOptions
from embodied_iqa.runs.trial.scores import as_json, score_trial
from embodied_iqa.world.protocols import VlaObservation
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.world import World

Values = dict[str, Any]

TASK, SCENE_SEED = "pick the red cube", 7
SMALL = {"camera_node.width_px": 320, "camera_node.height_px": 240}
"""Most trials: half their processor time goes into images, whose native size the others have."""
FEW = {"sim_node.camera_rate_hz": 5.0, "gate_node.judge.lease.ttl_s": 0.25}
"""A third of the usual images, each of which is judged or metered, and a lease that lasts until the next."""
WORDING = {"reason", "error", "latency_ms"}
"""Sentences may be rephrased; latencies differ from run to run."""
OF_GATES = {"arm", *(field.name for field in fields(GateEffects))}
"""Columns for comparisons of gates: functions of records whose parts are pinned."""


def distortions() -> Values:
    """Return hashes of the distorted image: 30 x 5 levels and the region modes of MIQD, two seeds."""
    image, inside_of = golden_images.image(), golden_images.mask()
    found: Values = {"image": golden.digest_array(image), "mask": golden.digest_array(inside_of)}
    for seed in (0, 1234):
        for line in catalogue():
            for level in LEVELS:
                rng = np.random.default_rng(seed)
                name = f"{line.id} {line.name} level {level} seed {seed}"
                found[name] = golden.digest_array(distort(image, line.id, level, rng))
        for line in miqd_catalogue():
            for inside, outside in ((3, 3), (3, 1), (1, 3)):
                rng = np.random.default_rng(seed)
                spoilt = distort_region(image, line.id, inside_of, inside=inside, outside=outside, rng=rng)
                name = f"{line.id} {region_mode(inside, outside)} {inside}/{outside} seed {seed}"
                found[name] = golden.digest_array(spoilt)
    return found


def trial() -> Values:
    """Return scores of seeded trials without ROS: each embedded VLA by command, two pairs in full."""
    return _experiment() | _trial_scores()


def database() -> Values:
    """Return hashes of the columns of a small database with the embedded panel."""
    arguments = ["--references", "2", "--size", "640x480", "--seed", "3", "--panel", "embedded"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "db"
        _command("build", "--out", str(path), *arguments)
        found: Values = {}
        for name in ("references", "tasks", "pairs", "scores"):
            rows = pq.read_table(path / f"{name}.parquet").to_pylist()
            found |= _columns(name, rows)
            if name == "scores":
                found |= _mean_scores(rows)
        for subject in sorted((path / "annotations").iterdir()):
            rows = pq.read_table(subject, partitioning=None).to_pylist()
            found |= _columns(f"annotations {subject.name}", rows)
        for file in sorted((path / "constants").iterdir()):
            found[f"constants {file.stem}"] = golden.digest(_constants(file))
        return found


def panel() -> Values:
    """Return plans and answers of the ten members on three seeded scenes, and actions of all VLAs."""
    found: Values = {}
    members = {name: LearnedVla(MODELS, name) for name in VLA_NAMES}
    vlas, vlms = (
        {name: make_vla(parse_vla(name)) for name in names_of(Role.VLA, Backend.EMBEDDED)},
        {name: make_vlm(parse_vlm(name)) for name in VLM_NAMES},
    )
    for index in range(3):
        scene, task = sample_scene(77_003, index)
        with SceneRenderer(scene, 640, 480) as renderer:
            snapshot = World(scene).snapshot()
            frames = {view: renderer.frame(view, snapshot) for view in CELL_VIEWS}
        where = f"scene {index}"
        found[f"{where} task"] = str(task)
        found |= {f"{where} {view} image": golden.digest_array(f.rgb) for view, f in frames.items()}
        for name, member in members.items():
            plan = member.plan([frames[view].rgb for view in member.info.views], str(task))
            found[f"{where} {name} plan rounded"] = golden.digest_rounded(plan.waypoints, 6)
            found[f"{where} {name} plan exact"] = golden.digest_array(plan.waypoints)
            found |= golden.flat({"seen": plan.seen, "aim": plan.aim}, f"{where} {name}")
        for name, vla in vlas.items():
            chunk = vla.act(VlaObservation(frames, str(task), HOME_POSE, 0.0, 0))
            found[f"{where} {name} status"] = str(chunk.status)
            found[f"{where} {name} increments rounded"] = golden.digest_rounded(chunk.increments, 6)
            found |= golden.flat({"target_px": chunk.target_px}, f"{where} {name}")
        for name, vlm in vlms.items():
            seen: Frame = frames[vlm.info.views[0]]
            for question in (str(task), "what is on the table"):
                found[f"{where} {name} {question}"] = vlm.answer(seen, question)
    return found


def scoring() -> Values:
    """Return worked values of cognition, decision and execution."""
    return golden.flat({"cognition": _cognition(), "decision": _decision(), "execution": _execution()})


def gate() -> Values:
    """Return statistics and verdicts of four images, and a short history of one camera."""
    clean = golden_images.image()
    images = {
        "clean": clean,
        "mild": distort(clean, "23", 1, np.random.default_rng(5)),
        "dark noise": distort(clean // 3, "12", 4, np.random.default_rng(5)),
        "coarse": np.ascontiguousarray(clean[::4, ::4].repeat(4, axis=0).repeat(4, axis=1)),
    }
    measured = {name: measure(image) for name, image in images.items()}
    usual = [measure(golden_images.image(shift)) for shift in range(-12, 13)]
    calibration = calibrate(View.TOP, usual, "golden pictures")
    tree: Values = {"statistics": {name: asdict(item) for name, item in measured.items()}}
    tree["bounds"] = {str(name): asdict(calibration.bounds[name]) for name in Statistic}
    tree["verdicts"] = {
        name: judge_image(View.TOP, item, calibration)[0].name for name, item in measured.items()
    }
    state, history = GateState(), []
    for frame, name in enumerate(_SEEN):
        stamp_ns = 1_000_000_000 + frame * 66_000_000
        judgement = StatisticsJudge([calibration]).judge(View.TOP, images[name])
        seen = GateFrame(View.TOP, stamp_ns, stamp_ns + 16_000_000, judgement)
        state, quality, lease = step(state, seen, GateOptions())
        verdicts = (quality.frame_verdict.name, quality.verdict.name, lease.verdict.name, lease.expires_ns)
        history.append(verdicts)
    tree["history"] = history
    shipped = load_calibrations(shared_file("config/gate/simulated.yaml"))
    tree["shipped bounds"] = {
        str(item.view): golden.digest_values(asdict(item.bounds[name]) for name in Statistic)
        for item in shipped
    }
    return golden.flat(tree)


def kinematics() -> Values:
    """Return forward and inverse kinematics of five configurations, rounded to 1e-9."""
    arm, found = Kinematics(tool_along_z(TOOL_2F140_M)), {}
    for index, q_rad in enumerate(np.array(_CONFIGURATIONS_RAD)):
        T_base_tool = arm.forward(q_rad)
        solutions = arm.inverse(T_base_tool, float(q_rad[5]))
        chosen = choose(arm, T_base_tool, q_rad + 0.1)
        found[f"configuration {index}"] = {
            "tool": np.round(T_base_tool, 9) + 0.0,
            "jacobian": np.round(arm.jacobian(q_rad), 9) + 0.0,
            "branches": solutions.branches,
            "solutions": np.round(solutions.q_rad, 9) + 0.0,
            "chosen branch": chosen.branch,
            "chosen": None if chosen.q_rad is None else np.round(chosen.q_rad, 9) + 0.0,
            "margins": asdict(arm.singularity_margins(q_rad)),
        }
    return golden.flat(found)


def metrics() -> Values:
    """Return every built-in metric that takes such small images on two distorted ones."""
    clean = golden_images.image()
    others = {
        "noise": distort(clean, "12", 2, np.random.default_rng(1)),
        "blur": distort(clean, "01", 3, np.random.default_rng(1)),
    }
    return golden.flat(
        {
            name: {word: metric.measure(image, clean) for word, image in others.items()}
            for name, metric in BUILT_IN.items()
            if metric.info.smallest_px <= min(clean.shape[:2])
        }
    )


GROUPS: Mapping[str, Callable[[], Values]] = {
    function.__name__: function
    for function in (distortions, trial, database, panel, scoring, gate, kinematics, metrics)
}
"""Every group by name; the file is NAME.json."""

_SEEN = (*["clean"] * 3, *["mild"] * 4, *["clean"] * 6, *["coarse"] * 3, "dark noise", *["clean"] * 7)

_CONFIGURATIONS_RAD = (
    (0.0, -1.5708, 1.5708, -1.5708, -1.5708, 0.0),
    (0.3, -1.1, 1.4, -1.9, -1.3, 0.4),
    (-1.2, -2.0, -1.0, 0.7, 1.1, 2.5),
    (2.4, -0.4, 0.9, 2.2, -0.6, -2.9),
    (1.0, -1.8, 2.1, -0.2, 2.0, 1.7),
)


def _command(*arguments: str) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = main(arguments)
    assert code == 0, f"embodied-iqa {' '.join(arguments)} returned {code}: {said.getvalue()}"


def _experiment() -> Values:
    """The classical VLA has the usual number of images, the panel few; the cameras are those of all."""
    cameras = {**SMALL, "camera_node.views": list(CELL_VIEWS)}
    return _runs("classical-vla", cameras) | _runs(",".join(VLA_NAMES), cameras | FEW)


def _runs(subjects: str, cell: Mapping[str, object]) -> Values:
    fixed = ["--task", TASK, "--scene-seed", str(SCENE_SEED), "--distortions", "12,19", "--levels", "3"]
    fixed += [word for name, value in cell.items() for word in ("--set", f"{name}={json.dumps(value)}")]
    with tempfile.TemporaryDirectory() as folder:
        _command("experiment", *fixed, "--vla", subjects, "--vlm", "panel-vlm-plain",
                 "--out", f"{folder}/out")  # fmt: skip
        rows = pq.read_table(f"{folder}/out/runs.parquet").to_pylist()
    found: Values = {}
    for row in rows:
        name = f"{row['subject']} {row['distortion_id'] or 'reference'}"
        found |= golden.flat({key: row[key] for key in row if key not in WORDING | OF_GATES}, name)
    return found


def _trial_scores() -> Values:
    """As scores.json has a reference run and two distorted ones; the second pair has one small camera."""
    task = ExperimentTask(TASK, SCENE_SEED)
    found: Values = {}
    for vlm, vla, cameras in (
        ("classical-vlm", "classical-vla", {"camera_node.views": [View.TOP, View.WRIST]}),
        ("panel-vlm-fine", "panel-vla-query", {"camera_node.views": [View.TOP], **SMALL}),
    ):
        watched = {**cameras, **FEW, "gate_node.judge.mode": "shadow"}
        nodes = resolve((), {"vla_node.subject": vla, **watched})
        specs = (None, DistortionSpec("12", 3), DistortionSpec("19", 5))
        with HeadlessRunner(HeadlessOptions(nodes), parse_vlm(vlm)) as runner:
            runs = tuple(runner.record(RunKey(parse_vla(vla), task, spec)) for spec in specs)
        for spec, run, scores in zip(
            specs, runs, score_trial(TrialRecord(TASK, SCENE_SEED, runs, {}), constants_of), strict=True
        ):
            name = f"scores {vlm} {vla} {'reference' if spec is None else spec.id}"
            found |= golden.flat(_without_wording(as_json(scores)), name)
            found |= golden.flat(_record(run), f"{name} record")
    return found


def _without_wording(tree: Any) -> Any:
    if not isinstance(tree, Mapping):
        return tree
    kept = {key: _without_wording(item) for key, item in tree.items() if key not in WORDING}
    if "position_error_mm" in kept:  # what a VLA says is a sentence; what a VLM says is the measured answer
        kept = {key: item for key, item in kept.items() if key not in {"answer", "reference_answer"}}
    return kept


def _record(run: RunRecord) -> Values:
    chunks = [(item.stamp_ns, item.view, item.source, item.sequence, item.step, item.status, item.gripper,
               item.target_px) for item in run.chunks]  # fmt: skip
    return {
        "stamps": [run.start_ns, run.end_ns],
        "outcome": run.outcome,
        "tool": run.T_base_tool[:3, 3],
        "tool path": golden.digest_rounded(run.tool_path, 6),
        "chunks": golden.digest_values(chunks),
        "increments": golden.digest_values(np.round(item.increments, 9) + 0.0 for item in run.chunks),
        "verdicts": golden.digest_values((v.stamp_ns, v.view, v.verdict.name) for v in run.verdicts),
    }


def _columns(name: str, rows: list[dict[str, Any]]) -> Values:
    found: Values = {f"{name} rows": len(rows)}
    for column in rows[0]:
        values = [row[column] for row in rows]
        if column in WORDING:  # only whether there is a sentence
            values = [value is not None for value in values]
        found[f"{name}.{column}"] = golden.digest_values(values)
    return found


def _mean_scores(rows: list[dict[str, Any]]) -> Values:
    found: Values = {}
    for subject in sorted({row["subject"] for row in rows}):
        scores = [row["score"] for row in rows if row["subject"] == subject]
        known = [score for score in scores if score is not None]
        found |= golden.flat(
            {"scored": len(known), "mean": float(np.mean(known or [0]))}, f"scores {subject}"
        )
    return found


def _constants(file: Path) -> bytes:
    """Leave out the sentence that says how they were measured."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if '"recipe"' not in line).encode()


def _cognition() -> list[Values]:
    answers = (
        "a red cube and a blue bowl on the table",
        "two green cylinders stand left of the yellow ball",
        "the drawer is open and the gripper holds a purple cube",
        "a blue button, a red button and an orange bowl",
    )
    pairs = (
        (answers[0], answers[0]),
        ("a red ball and a blue bowl on a table", answers[0]),
        ("two green cylinders left of the ball", answers[1]),
        ("I see nothing", answers[2]),
        ("A blue button; a red button!", answers[3]),
        ("", answers[3]),
    )
    frequencies = document_frequencies(answers)
    return [asdict(score_cognition(*pair, frequencies)) for pair in pairs]


def _decision() -> Values:
    rng = np.random.default_rng(11)
    chunks = [rng.uniform(-0.1, 0.1, (count, 7)) for count in (1, 3, 5, 5, 8)]
    for chunk in chunks:
        chunk[:, 6] = np.abs(chunk[:, 6]) * 10
    pairs = [(0, 0), (1, 2), (2, 3), (4, 3), (0, 4)]
    scores = [asdict(score_decision(chunks[a], chunks[b], 0.3, gripper=0.25)) for a, b in pairs]
    nothing = asdict(score_decision(np.empty((0, 7)), chunks[1], 0.3, gripper=0.25))
    return {"scores": [*scores, nothing], "scale_m": position_scale_m(chunks, seed=2)}


def _execution() -> list[Values]:
    cases = (
        (Outcome.SUCCESS, None), (Outcome.SUCCESS, 0.2), (Outcome.FAILURE, 0.0), (Outcome.FAILURE, 0.1234),
        (Outcome.FAILURE, 1.5), (Outcome.EMERGENCY_STOP, None), (Outcome.EMERGENCY_STOP, 0.4),
    )  # fmt: skip
    return [asdict(score_execution(*case)) for case in cases]
