"""Depth beside the images of a recording: raw and compressed, found by name, kept and never invented."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.cli import rescoring_frames
from embodied_iqa.cli.main import main
from embodied_iqa.data.frames import depth_beside
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.data.frames.cameras import depth_topic_beside
from embodied_iqa.data.frames.depth_beside import DepthBeside, depths_of
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import COMPRESSED_TYPE, IMAGE_TYPE, depth_from_cdr, image_to_cdr
from embodied_iqa.models.scoring.constants import SubjectConstants, UncalibratedError
from embodied_iqa.models.subjects.reference import parse_vlm
from embodied_iqa.runs.graph import session_results
from trial_recording import PixelVlm, image, type_store

COLOUR, DEPTH = "/camera/camera/color/image_raw", "/camera/camera/aligned_depth_to_color/image_raw"
START_NS, PERIOD_NS, COUNT = 10**18, 10**8, 6
LACKING = 4
"""The image whose depth was lost."""


def depth_mm(number: int, shape: tuple[int, int]) -> NDArray[np.uint16]:
    found = np.random.default_rng(number).integers(300, 4000, shape).astype(np.uint16)
    found[0, :5] = 0
    return found


def message(type_name: str, stamp_ns: int, **fields: object) -> bytes:
    types = type_store()
    return types.serialise(types.new(type_name, header=types.header(stamp_ns), **fields))


def raw(stamp_ns: int, pixels: NDArray[np.generic], encoding: str) -> bytes:
    height, width = pixels.shape
    data = pixels.tobytes()
    size = {"height": height, "width": width, "step": len(data) // height}
    return message(IMAGE_TYPE, stamp_ns, encoding=encoding, data=data, **size)


def packed(stamp_ns: int, steps: NDArray[np.uint16], form: str, a: float = 0.0, b: float = 0.0) -> bytes:
    png = cv2.imencode(".png", steps)[1].tobytes()
    return message(COMPRESSED_TYPE, stamp_ns, format=form, data=struct.pack("<iff", 0, a, b) + png)


def write_bag(path: Path, topic: str = DEPTH, *, compressed: bool = False, scale: int = 1) -> Path:
    """Colour every 0.1 s; its depth has the same stamp, arrives later, and is missing once."""
    kind = COMPRESSED_TYPE if compressed else IMAGE_TYPE
    with TrialWriter(path, types=type_store()) as writer:
        writer.add_channel(COLOUR, IMAGE_TYPE)
        writer.add_channel(topic, kind)
        for number in range(COUNT):
            stamp_ns = START_NS + number * PERIOD_NS
            rgb = image(View.TOP, number).repeat(scale, 0).repeat(scale, 1)
            writer.write(COLOUR, image_to_cdr(rgb, stamp_ns), stamp_ns)
            if number == LACKING:
                continue
            steps = depth_mm(number, rgb.shape[:2])
            form = "16UC1; compressedDepth png"
            cdr = packed(stamp_ns, steps, form) if compressed else raw(stamp_ns, steps, "16UC1")
            writer.write(topic, cdr, stamp_ns + PERIOD_NS // 3)
    return path


def test_metres_and_inverse_depth_become_millimetres() -> None:
    metres = np.array([[0.0004, 1.2344, np.nan], [-1.0, 70.0, np.inf]], np.float32)
    assert depth_from_cdr(raw(1, metres, "32FC1"))[1].tolist() == [[0, 1234, 0], [0, 0, 0]]
    steps = np.array([[0, 100, 400]], np.uint16)
    cdr = packed(1, steps, "32FC1; compressedDepth png", a=200.0, b=-100.0)
    assert depth_from_cdr(cdr, COMPRESSED_TYPE)[1].tolist() == [[0, 1000, 400]]  # 200 / (step + 100) m
    cdr = packed(1, steps, "16UC1; compressedDepth")
    assert depth_from_cdr(cdr, COMPRESSED_TYPE)[1].tolist() == steps.tolist()


@pytest.mark.parametrize("form", ["16UC1; compressedDepth rvl", "32FC1; png compressed", "rgb8; png", ""])
def test_other_formats_are_refused_by_name(form: str) -> None:
    with pytest.raises(InputError, match="unknown format of compressed depth; expected 16UC1"):
        depth_from_cdr(packed(1, np.ones((2, 2), np.uint16), form), COMPRESSED_TYPE)


def test_depth_is_found_by_the_name_of_its_driver() -> None:
    assert depth_topic_beside("/a/camera/color/image_raw/compressed", [f"/a{DEPTH[7:]}"]) == f"/a{DEPTH[7:]}"
    assert depth_topic_beside("/camera/top/image_raw", ["/camera/top/depth/image_raw"]) is not None
    assert depth_topic_beside(COLOUR, [f"{DEPTH}/compressedDepth"]) == f"{DEPTH}/compressedDepth"
    assert depth_topic_beside("/rgb/image_raw", ["/depth_to_rgb/image_raw"]) == "/depth_to_rgb/image_raw"
    assert depth_topic_beside(COLOUR, ["/camera/camera/depth/image_rect_raw"]) is None  # other pixels
    assert depth_topic_beside("/camera/camera/infra1/image_rect_raw", [DEPTH]) is None
    assert depth_topic_beside("/image_raw", ["/depth/image_raw"]) is None


def test_depth_is_read_in_step_and_a_lost_one_is_not_invented(tmp_path: Path) -> None:
    frames = open_frames(write_bag(tmp_path / "bag.mcap"))
    (depth,) = depths_of(frames, {COLOUR: View.TOP}).values()
    height, width = image(View.TOP, 0).shape[:2]
    for number in (0, 3, 5):
        found = depth.at(START_NS + number * PERIOD_NS + 10**7, (width, height))
        assert np.array_equal(found, depth_mm(number, (height, width)))
    with pytest.raises(InputError, match=r"has no depth within 0\.02 s"):
        depth.at(START_NS + 9 * PERIOD_NS, (width, height))
    depth.close()
    other = DepthBeside(frames.path, DEPTH)
    with pytest.raises(InputError, match=f"not aligned to its images; expected 8x8; got '{width}x{height}"):
        other.at(START_NS, (8, 8))
    other.close()
    with pytest.raises(InputError, match="no such topic of depth; got '/d'; available"):
        depths_of(frames, {COLOUR: View.TOP}, {View.TOP: "/d"})


def test_what_is_far_before_an_image_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By log times; where these lead beyond the image, all is read."""
    shape, read = (4, 6), list[int]()
    stamp_of = depth_beside.stamp_from_cdr

    def counted(cdr: bytes) -> int:
        read.append(stamp_of(cdr))
        return read[-1]

    monkeypatch.setattr(depth_beside, "stamp_from_cdr", counted)
    for log_period_ns, most in ((PERIOD_NS, 30), (10**6, 150)):
        path = tmp_path / f"{most}.mcap"
        with TrialWriter(path, types=type_store()) as writer:
            writer.add_channel(DEPTH, IMAGE_TYPE)
            for number in range(100):
                cdr = raw(START_NS + number * PERIOD_NS, depth_mm(number, shape), "16UC1")
                writer.write(DEPTH, cdr, START_NS + 10**9 + number * log_period_ns)
        depth = DepthBeside(path, DEPTH)
        for number in (0, 90):
            found = depth.at(START_NS + number * PERIOD_NS, (6, 4))
            assert np.array_equal(found, depth_mm(number, shape))
        depth.close()
        assert len(read) < most
        read.clear()


def test_rescoring_keeps_it_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def uncalibrated(name: str, _version: str, _role: object = None) -> SubjectConstants:
        raise UncalibratedError(f"{name} has no constants")

    for module in (rescoring_frames, session_results):
        monkeypatch.setattr(module, "constants_of", uncalibrated)
    monkeypatch.setattr(
        rescoring_frames, "parse_vlm", lambda _name: parse_vlm("openai:http://127.0.0.1:1/v1#m")
    )
    monkeypatch.setattr(rescoring_frames, "make_vlm", lambda _name, _options: PixelVlm())
    bag, out = write_bag(tmp_path / "bag.mcap", "/d/compressedDepth", compressed=True), tmp_path / "out"
    words = ["--topic", f"top={COLOUR}", "--depth", "top=/d/compressedDepth", "--task", "open the drawer"]
    words += ["--vlm", "pixel", "--distortion", "19:5", "--every", "0", "--out", str(out)]
    assert main(["rescore", str(bag), *words]) == 0
    assert "an image without depth: topic /d/compressedDepth has no depth within" in capsys.readouterr().out
    topic = "/camera/top/depth/image_raw"
    with TrialReader(out / "open-the-drawer-recorded/trial.mcap") as reader:
        kept = dict(depth_from_cdr(one.cdr) for one in reader.messages([topic]))
    shape = image(View.TOP, 0).shape[:2]
    there = [number for number in range(COUNT) if number != LACKING]
    assert list(kept) == [START_NS + number * PERIOD_NS for number in there]
    for number, found in zip(there, kept.values(), strict=True):
        assert np.array_equal(found, depth_mm(number, shape))
    with TrialReader(out / "open-the-drawer-19_5/trial.mcap") as reader:
        assert topic not in reader.topics


def test_distort_writes_it_as_it_is_and_info_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag, folder = write_bag(tmp_path / "bag.mcap"), tmp_path / "depth"
    words = ["distort", str(bag), "--distortion", "10:1", "--out", str(tmp_path / "out")]
    assert main([*words, "--depth-out", str(folder)]) == 0
    said = capsys.readouterr().err
    assert "depth of 5 images" in said
    assert "1 image without depth" in said
    names = sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.png"))
    assert len(names) == COUNT - 1
    assert set(names) < {one.name for one in open_frames(bag).images()}  # type: ignore[union-attr]
    read = np.asarray(cv2.imread(str(folder / f"{names[2]}.png"), cv2.IMREAD_UNCHANGED))
    assert np.array_equal(read, depth_mm(2, read.shape))
    assert main([*words, "--depth-out", str(tmp_path / "out")]) == 2
    capsys.readouterr()
    assert main(["recording", "info", str(bag), "--json"]) == 0
    (depth, _) = json.loads(capsys.readouterr().out)["topics"]
    size = {"width_px": read.shape[1], "height_px": read.shape[0]}
    assert depth["image"] == {"encoding": "16UC1", "depth": True, "depth_of": COLOUR, "unread": None, **size}


def test_a_build_names_the_depth_that_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag, out = write_bag(tmp_path / "bag.mcap", scale=2), tmp_path / "db"
    words = ["build", "--from-bag", str(bag), "--topic", f"top={COLOUR}", "--task", "open the drawer"]
    assert main([*words, "--references", "1", "--steps", "references", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert f"left out: {DEPTH} holds depth, a database keeps colour alone" in printed
