"""What the proxy records: images as judged, verdicts and times. A slow disk loses some and delays nothing."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.cli.main import main
from embodied_iqa.data.recording.errors import RecordingWriteError
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.proxy.gated_policy import GatedPolicy, ProxyOptions
from embodied_iqa.quality.gate.proxy.hold_answers import HeldError
from embodied_iqa.quality.gate.proxy.observed_images import ProxyCamera
from embodied_iqa.quality.gate.proxy.recording import VERDICT_TOPIC, ProxyRecorder, refused_images
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from embodied_iqa.quality.gate.stored_frames import CameraFrames
from gated_policies import KEY, WRIST, calibrations, covered, observation, rules, scene_image
from manual_clock import PATIENCE_S, ManualClock

S = 1_000_000_000
START_NS = 1_700_000_000 * S
OPTIONS = ProxyOptions((ProxyCamera(KEY, View.TOP, turned=True), ProxyCamera(WRIST, View.WRIST)))


def upright(top: int) -> dict:
    return {**observation(), KEY: scene_image(top)[::-1, ::-1]}


class Recorded:
    """A gated policy that takes 5 ms, and its recorder."""

    def __init__(self, path: Path, **more: int) -> None:
        self.clock = ManualClock()
        self.recorder = ProxyRecorder(path, OPTIONS, now_ns=lambda: START_NS + self.clock.now_ns(), **more)
        gate = Gatekeeper(StatisticsJudge(calibrations()), rules())
        self.gated = GatedPolicy(gate, OPTIONS, self._policy, self.clock, self.recorder.record)

    def _policy(self, _seen: object) -> dict:
        self.clock.advance(0.005)
        return {"actions": np.zeros((1, 7))}


def test_images_are_recorded_as_they_were_judged_with_verdict_reason_and_time(tmp_path: Path) -> None:
    recorded = Recorded(path := tmp_path / "proxy.mcap")
    recorded.gated.respond(upright(7))
    with pytest.raises(HeldError):
        recorded.gated.respond({**upright(8), WRIST: covered(scene_image(9))})
    with pytest.raises(HeldError):
        recorded.gated.respond({WRIST: b"no image"})
    status = recorded.recorder.close()
    assert (status.written, status.total_lost) == (7, 0)
    frames = list(CameraFrames(path, (), {}))
    assert [
        (one.view, np.array_equal(one.rgb, image))
        for one, image in zip(
            frames, (scene_image(7), scene_image(101), scene_image(8), covered(scene_image(9))), strict=True
        )
    ] == [(View.TOP, True), (View.WRIST, True)] * 2
    with TrialReader(path) as reader:
        messages = list(reader.messages([VERDICT_TOPIC]))
        found = [(one.log_time_ns, json.loads(reader.decode(one).data)) for one in messages]
    assert [one["verdict"] for _, one in found] == ["PASS", "REJECT", "REJECT"]
    assert [one["took_ms"] for _, one in found] == [5.0, 0.0, 0.0]
    assert "wrist: " in found[1][1]["reason"]
    stamps = [stamp for stamp, _ in found]
    assert stamps == sorted(set(stamps)), "no two observations have one stamp"
    assert stamps[0] == frames[0].stamp_ns == frames[1].stamp_ns


def test_a_recording_calibrates_and_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = Recorded(path := tmp_path / "proxy.mcap")
    for seed in range(60):
        recorded.gated.respond({**upright(seed), WRIST: scene_image(200 + seed)})
    recorded.recorder.close()
    mine = str(tmp_path / "mine.yaml")
    assert main(["gate", "calibrate", str(path), "--out", mine]) == 0
    assert "did not pass" not in capsys.readouterr().err
    assert main(["gate", "check", str(path), "--calibration", mine]) == 0
    text, hint = capsys.readouterr()
    counts = re.findall(r"(\d+) (?:pass|hold|reject)", text.splitlines()[-1])
    assert sum(map(int, counts)) == 120
    assert hint.startswith("next: embodied-iqa gate run "), "no trial has the cameras of a policy's clients"
    fit = ["gate", "fit", str(path), "--view", "top", "--vla", "panel-vla-query", "--judge", "metric:piqe"]
    assert main([*fit, "--task", "pick the red cube", "--out", f"{tmp_path}/fit.yaml"]) == 2
    assert "a recording of `gate proxy` has neither" in capsys.readouterr().err, "before scenes are counted"


def test_a_calibration_on_images_that_did_not_pass_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = Recorded(path := tmp_path / "proxy.mcap")
    for seed in range(60):
        seen = {**upright(seed), WRIST: scene_image(200 + seed)}
        if seed < 3:
            with pytest.raises(HeldError):
                recorded.gated.respond(seen | {KEY: covered(seen[KEY])})
        else:
            recorded.gated.respond(seen)
    recorded.recorder.close()
    assert main(["gate", "calibrate", str(path), "--out", str(tmp_path / "mine.yaml")]) == 0
    assert "note: images that did not pass when they were recorded: top 3; " in capsys.readouterr().err
    with TrialWriter(other := tmp_path / "other.mcap") as writer:
        writer.add_channel(VERDICT_TOPIC, "std_msgs/msg/String")
        for data in ("no JSON", "[]", '{"views": {"top": 1}}'):
            text = recorded.recorder._types.new("std_msgs/msg/String", data=data)
            writer.write(VERDICT_TOPIC, recorded.recorder._types.serialise(text), 1, 1)
    assert refused_images(other, {View.TOP}) == {}


def test_a_slow_disk_loses_what_does_not_fit_and_delays_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk stands still for the whole test: each answer comes all the same."""
    begun, may_go = threading.Event(), threading.Event()

    def stand(_self: TrialWriter, *_words: object, **_named: object) -> None:
        begun.set()
        assert may_go.wait(PATIENCE_S)

    image = scene_image(0).nbytes
    recorded = Recorded(tmp_path / "proxy.mcap", capacity_bytes=5 * image)
    monkeypatch.setattr(TrialWriter, "write", stand)
    for _ in range(20):
        recorded.gated.respond(upright(7))
    assert begun.wait(PATIENCE_S)
    status = recorded.recorder.status
    assert status.queued_bytes <= 5 * image
    assert status.accepted + status.total_lost == 60
    assert status.total_lost >= 50
    may_go.set()
    recorded.recorder.close()


def test_a_recording_that_exists_is_refused_before_the_proxy_starts(tmp_path: Path) -> None:
    (tmp_path / "proxy.mcap").touch()
    with pytest.raises(RecordingWriteError, match="exists"):
        ProxyRecorder(tmp_path / "proxy.mcap", OPTIONS)
