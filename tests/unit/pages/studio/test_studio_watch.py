"""The pages of a run: overview, player, its images, two runs beside each other."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.resources import shared_file
from embodied_iqa.data.recording.trial_record import VerdictRecord
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.pages.studio.watch.lanes import lane_of, tool_speed_mmps
from embodied_iqa.pages.studio.watch.recordings import OpenRun
from studio_client import client_of
from trial_recording import NOISE, PERIOD_NS, image, write_trial


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("watch") / "run"
    folder.mkdir()
    write_trial(folder / "trial.mcap", (None, NOISE))
    return folder


def test_speed_of_the_tool() -> None:
    path = np.array([[0.0, 0, 0, 0], [0.5, 0.1, 0, 0], [0.5, 0.1, 0, 0], [1.5, 0.1, 0.3, 0.4]])
    assert tool_speed_mmps(path) == pytest.approx(np.array([[0.5, 200.0], [1.5, 500.0]]))
    assert tool_speed_mmps(path[:1]).shape == (0, 2)


def test_images_are_those_of_the_recording(run: Path) -> None:
    found = OpenRun(run)
    track = found.track(0, 1)
    assert {view: len(places) for view, places in track.frames.items()} == {View.WRIST: 4, View.TOP: 4}
    raw = found.image(0, 1, View.TOP, 2, distorted=False)
    assert np.array_equal(raw, image(View.TOP, 2, 1))
    seen = found.image(0, 1, View.TOP, 2, distorted=True)
    assert not np.array_equal(seen, raw)
    lane = lane_of(found.run(0, 1), track, "/run/run/0/1")
    assert lane.data["frames"]["top"] == pytest.approx([n * PERIOD_NS / 1e9 for n in range(4)], abs=1e-4)
    assert [item.at_s for item in lane.decisions] == pytest.approx([0, 2 * PERIOD_NS / 1e9], abs=1e-4)


def test_each_image_has_its_own_reason_and_equal_ones_come_once(run: Path) -> None:
    found = OpenRun(run)
    record = found.run(0, 1)
    reasons = ("exposure 0.08 below 0.39", "exposure 0.08 below 0.39", "exposure 0.09 below 0.39", "")
    verdicts = tuple(
        VerdictRecord(
            stamp_ns=record.start_ns + n * PERIOD_NS,
            view=View.TOP,
            verdict=Verdict.HOLD if reason else Verdict.PASS,
            reason=reason,
            latency_ms=1.0,
        )
        for n, reason in enumerate(reasons)
    )
    lane = lane_of(replace(record, verdicts=verdicts), found.track(0, 1), "/run/run/0/1")
    period_s = round(PERIOD_NS / 1e9, 4)
    first, changed, passes = lane.data["verdicts"]["top"]
    assert first == (0.0, "hold", "exposure 0.08 below 0.39")
    assert changed == (pytest.approx(2 * period_s, abs=1e-3), "hold", "exposure 0.09 below 0.39")
    assert passes[1:] == ("pass", "")


def test_the_pages_of_a_run(run: Path) -> None:
    client, _ = client_of(run)
    overview = client.get("/run/run").text
    assert '"/run/run/0/1"' in overview
    assert "gate on: the arm obeys</span></h2>" in overview
    page = client.get("/run/run/0/1?beside=run/0/0").text
    lanes = json.loads(re.search(r'id="lanes">(.*?)</script>', page)[1])  # type: ignore[index]
    assert [lane["address"] for lane in lanes] == ["/run/run/0/1", "/run/run/0/0"]
    assert len(re.findall(r"<option [^>]*>[^<]*, gate on</option>", page)) == 2
    data = client.get("/run/run/0/1/top/distorted/1").content
    assert cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR).shape == (48, 64, 3)
    assert f"<bdi>{run / 'trial.mcap'}</bdi>" in page, "for Foxglove or Rerun"
    layout = client.get("/foxglove-layout.json")
    assert "attachment" in layout.headers["content-disposition"]
    shipped = shared_file("config/foxglove/trial.json").read_text(encoding="utf-8")
    assert layout.text == shipped
    linked = re.search(r'href="(/foxglove-layout.json[^"]*)"', page)[1]  # type: ignore[index]
    assert client.get(linked).text == shipped, "the views of the cell"
    front = client.get("/foxglove-layout.json?views=front,hand").text
    assert (
        json.loads(front)["configById"]["Image!raw_front"]["imageMode"]["imageTopic"]
        == "/camera/front/image_raw"
    )
    assert client.get("/foxglove-layout.json?views=front,hand,far").text == front
    assert front.replace("front", "top").replace("hand", "wrist") == shipped
    assert client.get('/foxglove-layout.json?views="x,../y').text == shipped
    assert client.get("/foxglove-layout.json?views=front,top").text.replace("front", "wrist") == shipped
    for place in ("/run/run/0/2", "/run/run/1/0", "/run/run/0/1/top/clean/4", "/run/run/0/1/left/clean/0"):
        assert client.get(place).status_code == 404
    for beside in ("x", "run/0", "run/0/x", "nobody/0/0"):
        assert client.get(f"/run/run/0/1?beside={beside}").status_code in {400, 404}


def test_a_run_with_a_schedule_is_named_with_it(tmp_path: Path) -> None:
    burst = replace(NOISE, schedule="burst:start=0.0,length=1.5")
    write_trial(tmp_path / "trial.mcap", (NOISE, burst))
    client, _ = client_of(tmp_path)
    page = client.get(f"/run/{tmp_path.name}/0/1").text
    assert page.count("level 3 burst:start=0.0,length=1.5") == 2, "of the choice beside, and the heading"


def test_a_recording_that_was_cut_short_is_explained(tmp_path: Path) -> None:
    whole = write_trial(tmp_path / "whole.mcap").read_bytes()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "trial.mcap").write_bytes(whole[: len(whole) // 2])
    client, _ = client_of(tmp_path / "run")
    answer = client.get("/run/run")
    assert answer.status_code == 400
    assert "is cut short" in answer.text
