"""Recorded actions on topics of a recording as a second reference: against worked values, refused by name."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.tables import rows_of
from embodied_iqa.cli import rescoring_frames
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.schema import Reference, SourceKind
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.frames.action_rows import RecordingActions
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr
from embodied_iqa.models.scoring.constants import SubjectConstants, load_constants
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.runs.graph import session_results
from embodied_iqa.runs.offline.recorded_actions import RecordedActions, actions_of
from moving_policies import GRIPPER, STEP_M, Follows
from scene_bags import scene
from trial_recording import type_store

EYE, TASK = "/eye/image", "open the drawer"
START_NS, PERIOD_NS, COUNT = 10**18, 10**8, 6
SCALE_M = 0.1
CLEAN = {scene(0, number).tobytes() for number in range(COUNT)}
ARRAY, NUMBER = "std_msgs/msg/Float64MultiArray", "std_msgs/msg/Float64"


@pytest.fixture(autouse=True)
def _policy(monkeypatch: pytest.MonkeyPatch) -> None:
    constants = SubjectConstants("pixel-vla", "1", "for this test", 1, d_max_m=SCALE_M)
    for module in (rescoring_frames, session_results):
        monkeypatch.setattr(module, "constants_of", lambda *_of: constants)
    monkeypatch.setattr(rescoring_frames, "parse_vla", lambda _name: parse_vla("openpi://127.0.0.1:1"))
    monkeypatch.setattr(rescoring_frames, "make_vla", lambda _name, _options: Follows(CLEAN))


def write_bag(path: Path, pause_ns: int = 0) -> Path:
    """The tool moves along x; targets follow each image by 10 ms, the fourth image after a pause."""
    types = type_store()
    with TrialWriter(path, types=types) as writer:

        def send(topic: str, kind: str, at_ns: int, **fields: Any) -> None:
            writer.add_channel(topic, kind)
            writer.write(topic, types.serialise(types.new(kind, **fields)), at_ns)

        def pose(topic: str, at_ns: int, x_m: float, late_ns: int = 0) -> None:
            point = types.new("geometry_msgs/msg/Point", x=x_m)
            turn = types.new("geometry_msgs/msg/Quaternion", w=1.0)
            where = types.new("geometry_msgs/msg/Pose", position=point, orientation=turn)
            kind = "geometry_msgs/msg/PoseStamped"
            send(topic, kind, at_ns + late_ns, header=types.header(at_ns), pose=where)

        writer.add_channel(EYE, IMAGE_TYPE)
        send("/squeeze", NUMBER, START_NS, data=GRIPPER)
        for number in range(COUNT):
            at_ns = START_NS + number * PERIOD_NS + (pause_ns if number > 2 else 0)
            ahead_m = STEP_M * (number + 1)
            pose("/tcp", at_ns, STEP_M * number)
            send("/grip", NUMBER, at_ns, data=GRIPPER)
            writer.write(EYE, image_to_cdr(scene(0, number), at_ns), at_ns)
            pose("/target", at_ns + 10**7, ahead_m)
            send("/command", ARRAY, at_ns + 10**7, data=np.array([ahead_m, 0, 0, 0, 0, 0, GRIPPER]))
            send("/few", ARRAY, at_ns + 10**7, data=np.zeros(3))
            pose("/target", at_ns + 5 * 10**6, 99.0, late_ns=10**7)  # older than the one before: left out
    return path


STATES = ("--state", "tool=/tcp", "--state", "gripper=/grip")


def rescore(bag: Path, out: Path, action: str) -> int:
    words = ("--task", TASK, "--vla", "p", "--distortion", "10:3", "--every", "0", "--action", action)
    return main(["rescore", str(bag), "--topic", f"top={EYE}", *words, *STATES, "--out", str(out)])


@pytest.mark.parametrize("place", ["/command", "/target,/squeeze"])
def test_decisions_are_compared_with_what_was_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    bag, out = write_bag(tmp_path / "bag.mcap"), tmp_path / "out"
    assert rescore(bag, out, f"tool-absolute={place}") == 0
    for run in json.loads((out / "scores.json").read_text())["runs"]:
        found, distorted = run["recorded_action"], run["distortion"] is not None
        # two steps of 0.03 m instead of 0.01 m: 0.04 m of 0.1 m; rotation and gripper agree
        assert found["score"] == pytest.approx((0.6 + 1 + 1) / 3 if distorted else 1.0)
        assert found["reference_score"] == pytest.approx(1.0)
        assert found["moments"] == COUNT - 1, "the last image has one action only"
    said = capsys.readouterr().out
    assert "no recorded action: the episode ends before 2 actions" in said
    assert "a recorded step (10 Hz) is a step of the policy" in said


def test_a_pause_ends_an_episode_and_what_follows_later_was_not_done_on_an_image(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag.mcap", pause_ns=5 * 10**9)
    actions = actions_of("tool-absolute=/command", bag)
    T = np.eye(4)
    assert actions.increments(START_NS + PERIOD_NS, 2, T, 0.0).shape == (2, 7)
    with pytest.raises(InputError, match="the episode ends before 2 actions"):
        actions.increments(START_NS + 2 * PERIOD_NS, 2, T, 0.0)
    with pytest.raises(InputError, match=r"no action within 0\.5 s of the image"):
        actions.increments(START_NS + 3 * PERIOD_NS, 2, T, 0.0)


def test_a_database_has_the_scores_against_what_was_sent(tmp_path: Path) -> None:
    bag, out = write_bag(tmp_path / "bag.mcap"), tmp_path / "db"
    subject = "python:moving_policies:Bright"
    words = ["build", "--from-bag", str(bag), "--topic", f"top={EYE}", "--task", TASK, "--every", "0.4"]
    words += ["--panel", subject, "--workers", "1", *STATES, "--out", str(out)]
    assert main([*words, "--action", "tool-absolute=/target,/squeeze"]) == 0
    store = DatabaseStore(out)
    stamps_ns = {
        row.reference_id: row.stamp_ns
        for row in rows_of(Reference, store.references())
        if row.source is SourceKind.RECORDING
    }
    assert sorted(stamps_ns.values()) == [START_NS, START_NS + 4 * PERIOD_NS]
    with (out / "recorded_actions.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 30
    d_max_m = load_constants(store.constants_file(subject)).d_max_m
    assert d_max_m is not None
    for row in rows:
        number = (stamps_ns[row["reference_id"]] - START_NS) // PERIOD_NS
        far_m = 2 * abs(float(scene(0, number).mean()) / 1e4 - STEP_M)
        assert float(row["reference_score"]) == pytest.approx((1 - min(1.0, far_m / d_max_m) + 2) / 3)
        assert row["reason"] == ""


def test_what_are_no_actions_is_refused_by_name(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag.mcap")
    with pytest.raises(UsageError, match="where are its actions"):
        actions_of("tool-absolute", bag)
    with pytest.raises(InputError, match="no such topic; got '/none'"):
        actions_of("tool-absolute=/none", bag)
    with pytest.raises(InputError, match=r"/eye/image is of another type; expected .*Float64MultiArray"):
        actions_of("tool-absolute=/eye/image", bag)
    with pytest.raises(InputError, match=r"poses, without the gripper; expected .*GRIPPER_TOPIC"):
        actions_of("tool-absolute=/target", bag)
    with pytest.raises(InputError, match=r"not pi0-libero; .*which are tool-absolute"):
        actions_of("pi0-libero=/target,/squeeze", bag)
    with pytest.raises(InputError, match=r"not tool-absolute; .*got '?3 in topic /few of"):
        actions_of("tool-absolute=/few", bag)
    with pytest.raises(UsageError, match="unknown action convention"):
        actions_of("absolute=/command", bag)
    assert RecordedActions(RecordingActions(bag, "/command"), "tool-absolute").source.rate_hz == 10
