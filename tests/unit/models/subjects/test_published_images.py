"""Images of LIBERO as openpi's and OpenVLA's evaluations prepare them."""

from __future__ import annotations

import re
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View, image_frame
from embodied_iqa.models.subjects.actions.convention import ObservationForm
from embodied_iqa.models.subjects.actions.observation import observation_for
from embodied_iqa.models.subjects.actions.published_images import openpi_image, openvla_image
from embodied_iqa.models.subjects.actions.table import CONVENTIONS, convention_of
from embodied_iqa.world.protocols import VlaObservation

NOISE = np.random.default_rng(6).integers(0, 256, (256, 256, 3), dtype=np.uint8)
SMOOTH = cv2.GaussianBlur(NOISE, (0, 0), 8)


@pytest.mark.parametrize("rgb", [NOISE, SMOOTH, NOISE[:200, :200]])
def test_openpi_scales_as_pillow(rgb: np.ndarray):
    mirrored = Image.fromarray(np.ascontiguousarray(rgb[:, ::-1]))
    expected = np.asarray(mirrored.resize((224, 224), resample=Image.Resampling.BILINEAR))
    np.testing.assert_array_equal(openpi_image(rgb), expected)


def test_openvla_scales_with_a_widened_lanczos_filter_behind_jpeg():
    mirrored = Image.fromarray(np.ascontiguousarray(SMOOTH[:, ::-1]))
    pillow = np.asarray(mirrored.resize((224, 224), resample=Image.Resampling.LANCZOS)).astype(int)
    difference = np.abs(openvla_image(SMOOTH).astype(int) - pillow)
    assert 0 < difference.max() < 12, "JPEG changes some pixels a little"
    assert difference.mean() < 1.5
    with pytest.raises(UsageError, match="square"):
        openvla_image(NOISE[:100])


def test_a_policy_of_libero_is_told_the_state_of_its_world():
    native = np.array([0.1, 0.2, 0.3, 3.2, 0.0, 0.1, 0.04, -0.03])
    frames = {view: image_frame(rgb, view) for view, rgb in ((View.TOP, NOISE), (View.WRIST, SMOOTH))}
    seen = VlaObservation(frames, "open the drawer", np.eye(4), 0.5, 0, native_state=native)
    told = observation_for(convention_of("pi0-libero"), seen, (View.TOP, View.WRIST))
    assert told["observation/state"].dtype == np.float32
    np.testing.assert_array_equal(told["observation/state"], native.astype(np.float32))
    np.testing.assert_array_equal(told["observation/image"], openpi_image(NOISE))
    np.testing.assert_array_equal(told["observation/wrist_image"], openpi_image(SMOOTH))
    assert told["prompt"] == "open the drawer"


def test_the_reference_names_every_key_of_every_convention() -> None:
    page = (Path(__file__).parents[4] / "docs/reference/policy-protocols.md").read_text(encoding="utf-8")
    _, table = page.split("| Convention | Key | Value |\n|---|---|---|\n")
    keys: dict[str, set[str]] = {}
    names: list[str] = []
    for line in table.split("\n\n")[0].splitlines():
        convention, key, value = (cell.strip() for cell in line.strip("|").split("|"))
        names = re.findall(r"`([\w-]+)`", convention) or names
        nested = re.findall(r"`(cam_\w+)`", value)
        for name in names:
            keys.setdefault(name, set()).update(re.findall(r"`([\w/]+)`", key), nested)
    frames = {view: image_frame(NOISE, view) for view in (View.TOP, View.WRIST)}
    seen = VlaObservation(frames, "open the drawer", np.eye(4), 0.5, 0)
    for name in sorted(CONVENTIONS):
        convention = convention_of(name)
        if convention.observation is ObservationForm.OWN:
            continue
        told = observation_for(convention, seen, (View.TOP, View.WRIST), np.zeros(7))
        assert keys.pop(name) == {*told, *told.get("images", ())}, name
    assert not keys
