"""Clean images of running cameras: how many, for how long, and what is kept when it ends sooner."""

from __future__ import annotations

import json
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Self

import cv2
import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.cli.gate import live_source
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.calibration_file import load_calibrations
from embodied_iqa.quality.gate.live_collecting import LiveImage, LivePlan, collect, without_password
from gated_policies import scene_image
from manual_clock import ManualClock

TOP, WRIST = View.TOP, View.WRIST


class Cameras:
    """Each call takes a tenth of a second and gives what the script says of its number."""

    views = (TOP, WRIST)

    def __init__(self, clock: ManualClock, script: Callable[[int], View | None]) -> None:
        self._clock, self._script, self.calls = clock, script, 0

    def why_silent(self, view: View) -> str:
        return "nobody publishes it" if view == WRIST else ""

    def next(self, _wait_s: float) -> LiveImage | None:
        self._clock.advance(0.1)
        self.calls += 1
        view = self._script(self.calls)
        return None if view is None else LiveImage(view, scene_image(self.calls))


def both(call: int) -> View:
    return TOP if call % 2 else WRIST


def run(folder: Path, script: Callable[[int], View | None], **changes: float):
    clock, shown = ManualClock(), []
    cameras = Cameras(clock, script)
    values = {"seconds": 10.0, "period_s": 0.5} | changes
    found = collect(
        cameras, folder, LivePlan(**values), lambda at, images: shown.append((at, {**images})), clock
    )
    return found, shown, cameras


def test_the_time_counts_from_when_every_camera_gave_an_image(tmp_path: Path) -> None:
    found, shown, cameras = run(tmp_path, lambda call: TOP if call <= 50 else both(call))
    assert found.ended == ""
    assert cameras.calls == 52 + 100
    assert [at for at, _ in shown[:51]] == [0.0] * 51
    assert shown[-1][0] == pytest.approx(10.0, abs=0.15)
    for view in (TOP, WRIST):
        files = sorted(path.name for path in (tmp_path / view).iterdir())
        assert files == [f"{number:06d}.png" for number in range(found.images[view])]


def test_neighbours_in_time_are_left_out(tmp_path: Path) -> None:
    found, _, _ = run(tmp_path, both, period_s=1.0)
    assert set(found.images.values()) <= {10, 11}


def test_a_written_image_is_the_one_that_came(tmp_path: Path) -> None:
    run(tmp_path, both)
    assert np.array_equal(cv2.imread(str(tmp_path / TOP / "000000.png"))[..., ::-1], scene_image(1))


def test_ctrl_c_keeps_what_there_is(tmp_path: Path) -> None:
    def script(call: int) -> View:
        if call == 31:
            raise KeyboardInterrupt
        return both(call)

    found, _, _ = run(tmp_path, script)
    assert found.ended == "interrupted"
    assert len(list((tmp_path / TOP).iterdir())) == found.images[TOP] > 0


def test_ctrl_c_before_every_camera_has_an_image_calibrates_nothing(tmp_path: Path) -> None:
    def script(call: int) -> View:
        if call == 5:
            raise KeyboardInterrupt
        return TOP

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, script)


def test_a_camera_that_gives_nothing_is_an_error_and_one_that_ceases_ends_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no image of the wrist camera for 10 s \(nobody publishes it\)$"):
        run(tmp_path, lambda _: TOP)
    found, _, _ = run(tmp_path, lambda call: both(call) if call < 40 else TOP, seconds=60.0)
    assert found.ended == "no image of the wrist camera for 10 s (nobody publishes it)"
    assert found.images[TOP] > 20 > found.images[WRIST] > 0


def test_a_camera_that_fails_at_once_is_an_error_and_later_ends_it(tmp_path: Path) -> None:
    def fails(at: int) -> Callable[[int], View]:
        def script(call: int) -> View:
            if call == at:
                raise InputError("unplugged")
            return both(call)

        return script

    with pytest.raises(InputError, match="unplugged"):
        run(tmp_path, fails(1))
    assert run(tmp_path, fails(20))[0].ended == "unplugged"


def test_the_command_calibrates_from_a_camera_that_opencv_opens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A video stands for the camera: at its end the command calibrates from what there is."""
    monkeypatch.setattr(live_source, "read_plan", lambda kind, given: kind(given.seconds, period_s=0.0))
    video, output = tmp_path / "camera.avi", tmp_path / "mine.yaml"
    writer = cv2.VideoWriter(str(video), cv2.VideoWriter_fourcc(*"MJPG"), 30.0, (64, 64))
    assert writer.isOpened()
    for seed in range(40):
        writer.write(scene_image(seed)[..., ::-1])
    writer.release()
    words = ["gate", "calibrate", "--live", "--device", f"top={video}", "--out", str(output), "--json"]
    assert main(words) == 0
    told = capsys.readouterr()
    assert "gives no image; calibrating from what there is" in told.err
    (camera,) = json.loads(told.out)["cameras"]
    assert (camera["view"], camera["frames"], camera["width_px"]) == ("top", 40, 64)
    (made,) = load_calibrations(output)
    assert made.provenance == f"live, top={video}"


def test_a_request_to_end_leaves_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before every camera has given an image: as with Ctrl-C, nothing is calibrated."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    seen = list[Path]()

    class Ended(Cameras):
        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def next(self, wait_s: float) -> LiveImage | None:
            seen.extend((tmp_path / "tmp").iterdir())
            signal.raise_signal(signal.SIGTERM)
            return super().next(wait_s)

    monkeypatch.setattr(live_source, "_source", lambda *_: Ended(ManualClock(), both))
    before = signal.getsignal(signal.SIGTERM)
    output = str(tmp_path / "mine.yaml")
    assert main(["gate", "calibrate", "--live", "--device", "top=0", "--out", output]) == 130
    assert seen
    assert not list((tmp_path / "tmp").iterdir())
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--live"], "--live is of topics or of cameras"),
        (["--live", "--device", "top=0", "--topic", "top=/a"], "--live is of topics or of cameras"),
        (["--live", "--device", "top"], "wrong --device"),
        (["--live", "--device", "top=0", "--device", "top=1"], "two --device have one view"),
        (["--live", "--simulated"], "either a folder"),
        (["--simulated", "--device", "top=0"], "--device is for --live"),
        (["--live", "--device", "top=0", "--seconds", "0"], "seconds"),
    ],
)
def test_wrong_words_are_one_line(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["gate", "calibrate", *words, "--out", str(tmp_path / "mine.yaml")])
    told = capsys.readouterr().err
    assert code == UsageError.exit_code
    assert said in told
    assert told.count("\n") == 1


def test_a_camera_that_cannot_be_opened_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "none.avi"
    words = [
        "gate",
        "calibrate",
        "--live",
        "--device",
        f"top={missing}",
        "--out",
        str(tmp_path / "a.yaml"),
    ]
    assert main(words) == 1
    assert "cannot open the top camera" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("device", "shown"),
    [
        ("rtsp://me:se@cret@camera:554/a@b", "rtsp://camera:554/a@b"),
        ("top=http://me@camera/x", "top=http://camera/x"),
        ("rtsp://camera/a@b", "rtsp://camera/a@b"),
        ("/dev/video0", "/dev/video0"),
        ("0", "0"),
    ],
)
def test_a_password_of_a_camera_is_neither_shown_nor_stored(device: str, shown: str) -> None:
    assert without_password(device) == shown
