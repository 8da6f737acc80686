"""Image files as a camera, and errors for other files."""

from __future__ import annotations

import math
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.images.codecs import read_image, write_image
from embodied_iqa.imaging.images.file_camera import EndOfFramesError, FileCamera, intrinsics_of_fov
from embodied_iqa.imaging.images.frame import Camera, View
from embodied_iqa.imaging.images.image_files import image_files

INTRINSICS = intrinsics_of_fov(8, 6, 1.0)


def image(seed: int, width: int = 8) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (6, width, 3), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for index in range(3):
        Image.fromarray(image(index)).save(tmp_path / f"{index}.png")
    (tmp_path / "notes.txt").write_text("no image")
    return tmp_path


def test_reads_what_pillow_wrote(folder: Path) -> None:
    assert np.array_equal(read_image(folder / "1.png"), image(1))
    for mode in ("L", "RGBA"):
        Image.fromarray(image(1)).convert(mode).save(folder / "other.png")
        expected = np.asarray(Image.open(folder / "other.png").convert("RGB"))
        assert np.array_equal(read_image(folder / "other.png"), expected)


def test_pillow_reads_what_was_written(tmp_path: Path) -> None:
    write_image(tmp_path / "a.png", image(4))
    assert np.array_equal(np.asarray(Image.open(tmp_path / "a.png")), image(4))
    smooth = np.tile(np.linspace(0, 255, 64, dtype=np.uint8)[None, :, None], (64, 1, 3))
    write_image(tmp_path / "a.jpg", smooth, [cv2.IMWRITE_JPEG_QUALITY, 100])
    assert np.abs(np.asarray(Image.open(tmp_path / "a.jpg")).astype(int) - smooth).max() <= 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jpg", "a.png"]


def test_nothing_is_assumed_of_where_the_camera_was(folder: Path) -> None:
    frame = FileCamera(image_files(folder), View.TOP, INTRINSICS).read(0.0)
    assert frame is not None
    assert frame.T_base_camera is None


def test_frames_in_order_with_growing_stamps(folder: Path) -> None:
    T = np.diag([1.0, -1.0, -1.0, 1.0])
    camera: Camera = FileCamera(
        image_files(folder), View.TOP, INTRINSICS, T_base_camera=T, period_ns=10, start_ns=100
    )
    frames = [camera.read(0.0) for _ in range(3)]
    for index, frame in enumerate(frames):
        assert frame is not None
        assert (frame.view, frame.stamp_ns, frame.intrinsics) == (View.TOP, 100 + 10 * index, INTRINSICS)
        assert np.array_equal(frame.rgb, image(index))
        assert np.array_equal(frame.T_base_camera, T)
    with pytest.raises(EndOfFramesError, match="all 3 images of camera top"):
        camera.read(0.0)
    camera.close()
    camera.close()


def test_loop_and_clock(folder: Path) -> None:
    ticks = iter(range(1000, 2000, 7))
    camera = FileCamera(image_files(folder), View.TOP, INTRINSICS, loop=True, clock_ns=lambda: next(ticks))
    frames = [camera.read(0.0) for _ in range(7)]
    assert all(frame is not None for frame in frames)
    assert [frame.stamp_ns for frame in frames if frame] == list(range(1000, 1049, 7))
    assert np.array_equal(frames[6].rgb, image(0))


def test_all_wrong_files_are_listed(folder: Path) -> None:
    files = [folder / "0.png", folder / "none.png", folder / "notes.txt"]
    with pytest.raises(InputError, match=r"none\.png', '.*notes\.txt'; expected files \*\.bmp"):
        FileCamera(files, View.TOP, INTRINSICS)
    with pytest.raises(InputError, match=r"4\.png' and 3 more"):
        FileCamera([folder / f"x{index}.png" for index in range(8)], View.TOP, INTRINSICS)
    with pytest.raises(InputError, match="needs images"):
        FileCamera([], View.TOP, INTRINSICS)


def test_wrong_size_and_wrong_content_are_refused(folder: Path) -> None:
    Image.fromarray(image(9, width=9)).save(folder / "0.png")
    camera = FileCamera(image_files(folder), View.TOP, INTRINSICS)
    with pytest.raises(InputError, match=r"0\.png.*expected 8 x 6 px; got '9 x 6 px'"):
        camera.read(0.0)
    for content, reason in ((b"", "is empty"), (b"no image", "is not an image")):
        (folder / "0.png").write_bytes(content)
        with pytest.raises(InputError, match=rf"0\.png.*{reason}"):
            read_image(folder / "0.png")


def test_wrong_folders_and_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no images"):
        image_files(tmp_path)
    with pytest.raises(InputError, match="No such file"):
        image_files(tmp_path / "none")
    with pytest.raises(InputError, match="No such file"):
        read_image(tmp_path / "none.png")
    with pytest.raises(UsageError, match="unknown image format"):
        write_image(tmp_path / "a.xyz", image(1))
    write_image(tmp_path / "new" / "a.png", image(1))
    with pytest.raises(InputError, match="cannot be written"):
        write_image(tmp_path / "new" / "a.png" / "b.png", image(1))
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.png"]
    write_image(tmp_path / "a.png", image(1))
    with pytest.raises(UsageError, match="wrong period"):
        FileCamera([tmp_path / "a.png"], View.TOP, INTRINSICS, period_ns=0)


@pytest.mark.parametrize("fov_rad", [0.3, 1.0, 2.5])
def test_edges_of_the_image_span_the_field_of_view(fov_rad: float) -> None:
    model = intrinsics_of_fov(641, 480, fov_rad)
    left = math.atan((-0.5 - model.cx_px) / model.fx_px)
    right = math.atan((640.5 - model.cx_px) / model.fx_px)
    assert right - left == pytest.approx(fov_rad)
    assert left == pytest.approx(-right)


@pytest.mark.parametrize("fov_rad", [0.0, -1.0, math.pi, math.nan])
def test_impossible_field_of_view(fov_rad: float) -> None:
    with pytest.raises(UsageError):
        intrinsics_of_fov(8, 6, fov_rad)
