"""Properties of every distortion: shape, type, unmodified input, the same image from the same seed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embodied_iqa.imaging.distortions import catalogue, distort, miqd_catalogue
from embodied_iqa.imaging.distortions.image import Image

IDS = [line.id for line in (*catalogue(), *miqd_catalogue())]
KINDS = ("noise", "black", "white", "gray-looking", "ramp")


def make_image(kind: str, height: int, width: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "noise":
        return rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
    if kind in {"black", "white"}:
        return np.full((height, width, 3), 255 * (kind == "white"), np.uint8)
    ramp = np.linspace(0, 255, width)[None, :, None].astype(np.uint8)
    if kind == "gray-looking":
        return np.ascontiguousarray(np.broadcast_to(ramp, (height, width, 3)))
    tilt = np.linspace(0, 1, height)[:, None, None] * np.array([1.0, 0.5, 0.2])
    return (ramp * tilt).astype(np.uint8)


@pytest.mark.parametrize("distortion_id", IDS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    kind=st.sampled_from(KINDS),
    height=st.integers(16, 150),
    width=st.integers(16, 150),
    level=st.integers(1, 5),
    seed=st.integers(0, 2**32),
)
def test_shape_type_input_and_determinism(
    distortion_id: str, *, kind: str, height: int, width: int, level: int, seed: int
):
    image = make_image(kind, height, width, seed)
    before = image.copy()
    image.flags.writeable = False
    first = distort(image, distortion_id, level, np.random.default_rng(seed))
    again = distort(image, distortion_id, level, np.random.default_rng(seed))
    assert first.shape == image.shape
    assert first.dtype == np.uint8
    assert first.flags.c_contiguous
    assert not np.shares_memory(first, image)
    assert np.array_equal(image, before)
    assert np.array_equal(first, again)


@pytest.mark.parametrize("distortion_id", IDS)
def test_arrays_that_are_not_contiguous_give_the_same(distortion_id: str, photograph: Image):
    mirrored = photograph[:, ::-1]
    wide = np.zeros((*photograph.shape[:2], 4), np.uint8)
    wide[..., :3] = mirrored
    plain = distort(np.ascontiguousarray(mirrored), distortion_id, 3, np.random.default_rng(1))
    assert np.array_equal(distort(mirrored, distortion_id, 3, np.random.default_rng(1)), plain)
    assert np.array_equal(distort(wide[..., :3], distortion_id, 3, np.random.default_rng(1)), plain)


@pytest.mark.parametrize("distortion_id", IDS)
def test_no_level_is_an_identity_and_nothing_global_is_drawn(distortion_id: str, photograph: Image):
    np.random.seed(3)  # noqa: NPY002 - the global generator is what must stay untouched
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    for level in range(1, 6):
        assert not np.array_equal(
            distort(photograph, distortion_id, level, np.random.default_rng(2)), photograph
        )
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.mark.parametrize("distortion_id", IDS)
@pytest.mark.parametrize(
    ("height", "width"), [(2160, 48), (48, 3840), pytest.param(2160, 3840, marks=pytest.mark.stress)]
)
def test_images_as_high_and_as_wide_as_4k(distortion_id: str, height: int, width: int):
    image = make_image("ramp", height, width, 0)
    out = distort(image, distortion_id, 2, np.random.default_rng(0))
    assert out.shape == image.shape


RANDOM = ["03", "05", "12", "13", "14", "15", "16", "17", "22", "23", "24", "25", "26"]


@pytest.mark.parametrize("distortion_id", IDS)
def test_seeds_matter_exactly_where_there_is_randomness(distortion_id: str, photograph: Image):
    one, two = (distort(photograph, distortion_id, 4, np.random.default_rng(seed)) for seed in (1, 2))
    differs = not np.array_equal(one, two)
    random_miqd = {"gaussian-noise", "motion-blur", "glass-blur", "fog", "snow"}
    assert differs == (distortion_id in RANDOM or distortion_id.removeprefix("miqd:") in random_miqd)


BLOCKED_IMPORTS = """
import sys
class Wall:
    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        allowed = root in sys.stdlib_module_names or root in {"numpy", "cv2", "embodied_iqa"}
        wing, room = (name.split(".") + ["", ""])[1:3] if root == "embodied_iqa" else ("", "")
        below = {"", "errors", "files", "lazy", "onnx_session", "units", "user_code", "distortions", "images"}
        if not allowed or wing not in {"", "base", "imaging"} or room not in below:
            raise ImportError(f"blocked: {name}")
sys.meta_path.insert(0, Wall())
import numpy as np
from embodied_iqa.imaging.distortions import catalogue, distort
image = np.full((64, 64, 3), 99, np.uint8)
for line in catalogue():
    if line.id != "17":
        distort(image, line.id, 3, np.random.default_rng(0))
print("fine")
"""


def test_numpy_and_opencv_are_enough():
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED_IMPORTS], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "fine", done.stderr
