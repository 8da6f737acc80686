"""Recorded actions of a data set as a second reference: against worked values, and refused by name."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.tables import rows_of
from embodied_iqa.cli import rescoring_frames
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.schema import Reference
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.frames.action_rows import DatasetActions
from embodied_iqa.data.lerobot.dataset import LeRobotDataset
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.scoring.constants import SubjectConstants, load_constants
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.runs.graph import session_results
from embodied_iqa.runs.offline.recorded_actions import RecordedActions
from embodied_iqa.world.libero.suite_world import native_state_of
from embodied_iqa.world.protocols import ActionChunk, VlaObservation
from lerobot_samples import LENGTHS, TOP, edit_info, pixels, png, write_dataset
from moving_policies import GRIPPER, STEP_M, Bright, Follows, Refuses

SCALE_M = 0.1
CLEAN = {pixels(episode, step).tobytes() for episode, length in enumerate(LENGTHS) for step in range(length)}


def enlarged(episode: int, step: int, scale: int) -> NDArray[np.uint8]:
    """An image with repeated pixels, and with noise: a build takes no blurred one."""
    rgb = pixels(episode, step).repeat(scale, 0).repeat(scale, 1)
    if scale == 1:
        return rgb
    noise = np.random.default_rng(7).integers(-25, 26, rgb.shape)
    return np.clip(rgb + noise, 0, 255).astype(np.uint8)


def write_moving(folder: Path, scale: int = 1) -> Path:
    """A data set whose tool moves along x; an action is the state of the next step."""
    write_dataset(folder)
    for path in sorted(folder.glob("data/*/*.parquet")):
        table = pq.read_table(path)
        for key, ahead in (("observation.state", 0), ("action", 1)):
            rows = [
                [STEP_M * (step + ahead), 0.0, 0.0, 0.0, 0.0, 0.0, GRIPPER]
                for step in table["frame_index"].to_pylist()
            ]
            place = table.column_names.index(key)
            table = table.set_column(place, key, pa.array(rows, pa.list_(pa.float64(), 7)))
        places = zip(table["episode_index"].to_pylist(), table["frame_index"].to_pylist(), strict=True)
        large = [enlarged(*place, scale) for place in places]
        cells = pa.array([{"bytes": png(rgb), "path": None} for rgb in large], table.schema.field(TOP).type)
        table = table.set_column(table.column_names.index(TOP), TOP, cells)
        pq.write_table(table, path)
    info = json.loads((folder / "meta/info.json").read_text())
    for key in ("observation.state", "action"):
        info["features"][key] = {"dtype": "float64", "shape": [7], "names": None}
    height_px, width_px, _ = pixels(0, 0).shape
    info["features"][TOP]["shape"] = [scale * height_px, scale * width_px, 3]
    edit_info(folder, features=info["features"])
    return folder


def rescore(folder: Path, out: Path, *words: str) -> int:
    states = ["--state", "tool=observation.state:0", "--state", "gripper=observation.state:6"]
    asked = ["--vla", "p", "--distortion", "10:3", "--every", "0", "--out", str(out)]
    return main(["rescore", str(folder), *asked, *states, *words])


@pytest.fixture(autouse=True)
def _policy(monkeypatch: pytest.MonkeyPatch) -> None:
    constants = SubjectConstants("pixel-vla", "1", "for this test", 1, d_max_m=SCALE_M)
    for module in (rescoring_frames, session_results):
        monkeypatch.setattr(module, "constants_of", lambda *_of: constants)
    monkeypatch.setattr(rescoring_frames, "parse_vla", lambda _name: parse_vla("openpi://127.0.0.1:1"))
    monkeypatch.setattr(rescoring_frames, "make_vla", lambda _name, _options: Follows(CLEAN))


def test_decisions_are_compared_with_what_was_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = write_moving(tmp_path / "set"), tmp_path / "out"
    assert rescore(folder, out, "--action", "tool-absolute") == 0
    runs = json.loads((out / "scores.json").read_text())["runs"]
    for run in runs:
        found = run["recorded_action"]
        distorted = run["distortion"] is not None
        # two steps of 0.03 m instead of 0.01 m: 0.04 m of 0.1 m; rotation and gripper agree
        assert found["score"] == pytest.approx((0.6 + 1 + 1) / 3 if distorted else 1.0)
        assert found["reference_score"] == pytest.approx(1.0)
        assert found["position_error_mm"] == pytest.approx(40.0 if distorted else 0.0, abs=1e-6)
        assert found["convention"] == "tool-absolute"
        of_task = LENGTHS[:1] if run["task"] == "pick up the cube" else LENGTHS[1:]
        assert found["moments"] == sum(length - 1 for length in of_task)
    with (out / "frames.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["level"] == "3"]
    given = [float(row["against_recorded_action"]) for row in rows if row["against_recorded_action"]]
    assert len(rows) - len(given) == len(LENGTHS), "the last step of an episode has no second action"
    assert given == pytest.approx([2.6 / 3] * len(given))
    said = capsys.readouterr().out
    assert "3 x no recorded action: the episode ends before 2 actions" in said
    assert "recorded actions are tool-absolute: tool pose, absolute, axes of own base, rotvec" in said
    assert main(["report", str(out)]) == 0
    assert "Against the recorded action" in next(out.rglob("*.html")).read_text()


def test_a_refusal_is_counted_and_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standing still is near to slow steps: it would beat many a decision."""
    folder, out, hidden = write_moving(tmp_path / "set"), tmp_path / "out", pixels(0, 1).tobytes()
    monkeypatch.setattr(rescoring_frames, "make_vla", lambda _name, _options: Refuses(CLEAN, hidden))
    assert rescore(folder, out, "--action", "tool-absolute") == 0
    for run in json.loads((out / "scores.json").read_text())["runs"]:
        found = run["recorded_action"]
        is_first = run["task"] == "pick up the cube"
        moments = sum(length - 1 for length in (LENGTHS[:1] if is_first else LENGTHS[1:]))
        assert (found["moments"], found["reference_refused"]) == (moments, int(is_first))
        if run["distortion"] is None:
            assert found["refused"] == int(is_first)
            assert found["score"] == found["reference_score"] == pytest.approx(1.0)
        else:
            assert found["refused"] == moments
            means = [found[name] for name in ("score", "reference_score", "position_error_mm")]
            assert means == [None] * 3
    with (out / "frames.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["decision_status"] for row in rows if row["level"] == "3"} == {"no_target"}
    assert {row["against_recorded_action"] for row in rows if row["level"] == "3"} == {""}
    shown = [row["decision_status"] for row in rows if row["level"] == "0"]
    assert (shown.count("no_target"), shown.count("act")) == (1, len(shown) - 1)
    assert main(["report", str(out)]) == 0
    assert "saw no target at" in next(out.rglob("*.html")).read_text()


def test_a_decision_that_failed_is_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Fails(Follows):
        def act(self, observation: VlaObservation) -> ActionChunk:
            if observation.frames[View.TOP].rgb.tobytes() not in CLEAN:
                raise ValueError("no memory left")
            return super().act(observation)

    monkeypatch.setattr(rescoring_frames, "make_vla", lambda _name, _options: Fails(CLEAN))
    assert rescore(write_moving(tmp_path / "set"), tmp_path / "out", "--action", "tool-absolute") == 1
    runs = json.loads((tmp_path / "out/scores.json").read_text())["runs"]
    found = [run["recorded_action"] for run in runs if run["distortion"] is not None]
    assert [(one["moments"], one["refused"], one["score"]) for one in found] == [(0, 0, None)] * len(found)


def test_a_database_has_the_scores_against_what_was_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = write_moving(tmp_path / "set", 2), tmp_path / "db"
    subject = "python:moving_policies:Bright"
    states = ["--state", "tool=observation.state:0", "--state", "gripper=observation.state:6"]
    words = ["build", "--from-bag", str(folder), "--every", "0.4", "--references", "2", "--out", str(out)]
    words += ["--panel", subject, "--workers", "1", "--json"]
    assert main([*words, "--action", "tool-absolute"]) == 2, "without a state"
    assert "--action needs the state" in capsys.readouterr().err
    assert main([*words, *states, "--action", "tool-absolute"]) == 0
    tree = json.JSONDecoder().raw_decode(capsys.readouterr().out)[0]
    with (out / "recorded_actions.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 30
    d_max_m = load_constants(DatabaseStore(out).constants_file(subject)).d_max_m
    assert d_max_m is not None
    steps = {row.reference_id: row.origin for row in rows_of(Reference, DatabaseStore(out).references())}
    for row in rows:
        if "frame_000004" in steps[row["reference_id"]]:
            assert (row["score"], row["reason"]) == ("", "the episode ends before 2 actions")
            continue
        assert "frame_000000" in steps[row["reference_id"]]
        far_m = 2 * abs(float(enlarged(0, 0, 2).mean()) / 1e4 - STEP_M)
        assert float(row["reference_score"]) == pytest.approx((1 - min(1.0, far_m / d_max_m) + 2) / 3)
        assert 2 / 3 <= float(row["score"]) <= 1
    (means,) = tree["recorded_action"].values()
    assert (means["decisions"], means["refused"], means["reference_refused"]) == (30, 0, 0)


def test_a_database_counts_refusals_and_does_not_compare_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = write_moving(tmp_path / "set", 2), tmp_path / "db"
    words = ["build", "--from-bag", str(folder), "--every", "0.4", "--references", "2", "--out", str(out)]
    words += ["--panel", "python:moving_policies:Dim", "--workers", "1", "--action", "tool-absolute"]
    words += ["--state", "tool=observation.state:0", "--state", "gripper=observation.state:6"]
    assert main([*words, "--json"]) == 0
    (means,) = json.JSONDecoder().raw_decode(capsys.readouterr().out)[0]["recorded_action"].values()
    with (out / "recorded_actions.csv").open() as file:
        rows = list(csv.DictReader(file))
    refused = [row for row in rows if row["reason"] == "the policy saw no target"]
    assert {row["status"] for row in refused} == {"no_target"}
    assert {row["score"] + row["reference_score"] + row["position_error_mm"] for row in refused} == {""}
    compared = [float(row["score"]) for row in rows if row["score"]]
    assert refused
    assert compared
    assert (means["decisions"], means["refused"]) == (len(refused) + len(compared), len(refused))
    assert means["score"] == pytest.approx(sum(compared) / len(compared))
    assert main(words) == 0
    assert f"30 decisions, {len(refused)} see no target, 0 none on the reference" in capsys.readouterr().out


class Told(Bright):
    """Keeps what it is shown."""

    def __init__(self, seen: list[VlaObservation]) -> None:
        super().__init__()
        self._seen = seen

    def act(self, observation: VlaObservation) -> ActionChunk:
        self._seen.append(observation)
        return super().act(observation)


def test_liberos_state_reaches_the_policy_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With an angle beyond half a turn, and the images that the policy mirrors back."""
    seen = list[VlaObservation]()
    monkeypatch.setattr(rescoring_frames, "make_vla", lambda _name, _options: Told(seen))
    state = [0.4, -0.1, 0.3, 3.3, 0.0, 0.0, 0.03, -0.03]
    folder = write_moving(tmp_path / "set")
    info = json.loads((folder / "meta/info.json").read_text())
    info["features"]["observation.state"]["shape"] = [8]
    edit_info(folder, features=info["features"])
    for path in folder.glob("data/*/*.parquet"):
        table = pq.read_table(path)
        column = pa.array([state] * table.num_rows, pa.list_(pa.float64(), 8))
        place = table.column_names.index("observation.state")
        pq.write_table(table.set_column(place, "observation.state", column), path)
    words = ["rescore", str(folder), "--vla", "p", "--distortion", "10:3", "--every", "10"]
    libero = ["--state", "libero=observation.state:0"]
    assert main([*words, *libero, "--out", str(tmp_path / "out")]) == 0
    first = seen[0]
    assert first.native_state is not None
    assert first.native_state.tolist() == state
    assert native_state_of(first.T_base_tool, first.gripper) == pytest.approx(state)
    assert np.array_equal(first.frames[View.TOP].rgb[:, ::-1], pixels(0, 0))
    more = [*libero, "--state", "gripper=observation.state:6", "--out", str(tmp_path / "again")]
    assert main([*words, *more]) == 2
    assert "--state libero is the whole state" in capsys.readouterr().err
    build = ["build", "--from-bag", str(folder), *libero, "--out", str(tmp_path / "db")]
    assert main(build) == 2
    assert "a database keeps no state of LIBERO" in capsys.readouterr().err


def test_nobody_asked_is_not_null(tmp_path: Path) -> None:
    assert rescore(write_moving(tmp_path / "set"), tmp_path / "out") == 0
    runs = json.loads((tmp_path / "out/scores.json").read_text())["runs"]
    assert all("recorded_action" not in run for run in runs)


def test_what_is_no_such_action_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_dataset(tmp_path / "set")
    dataset = LeRobotDataset(folder)
    with pytest.raises(InputError, match=r"not pi0-base; expected '?7 numbers: 6 joints of ur5, absolute"):
        RecordedActions(DatasetActions(dataset), "pi0-base")
    with pytest.raises(UsageError, match="unknown action convention; got 'absolute'"):
        RecordedActions(DatasetActions(dataset), "absolute")
    moving = LeRobotDataset(write_moving(tmp_path / "moving"))
    words = ("--action", "tool-absolute", "--distortion", "10:3", "--out", str(tmp_path / "out"))
    assert main(["rescore", str(moving.path), "--vlm", "p", *words]) == 2
    assert "--action is compared with the decisions of a policy" in capsys.readouterr().err
