"""The catalogues, the words that name a distortion, and what is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.distortions import (
    DistortionClass,
    DistortionSpec,
    Source,
    catalogue,
    distort,
    entry,
    miqd_catalogue,
    parse_distortion,
)
from embodied_iqa.imaging.distortions.entry import Entry
from embodied_iqa.imaging.distortions.image import Image

BOTH = (*catalogue(), *miqd_catalogue())


def test_ids_and_classes_are_those_of_the_paper():
    assert [line.id for line in catalogue()] == [f"{number:02d}" for number in range(1, 31)]
    counts = Counter(line.distortion_class for line in catalogue())
    assert [counts[name] for name in list(DistortionClass)[:7]] == [3, 5, 3, 6, 4, 7, 2]
    assert len(miqd_catalogue()) == 10
    assert len({line.name for line in catalogue()}) == 30


@pytest.mark.parametrize("line", BOTH, ids=lambda line: line.id)
def test_an_entry_has_five_different_levels_and_says_where_they_come_from(line: Entry):
    assert len(set(line.parameters)) == 5
    assert all(len(row) == len(line.parameter_names) for row in line.parameters)
    assert line.unit
    assert line.source in Source


@pytest.mark.parametrize("word", ["02", "2", "lens-blur", "Lens Blur", "lens_blur"])
def test_a_distortion_is_found_by_number_and_name(word: str):
    assert entry(word).id == "02"


def test_words_become_specifications():
    assert parse_distortion("02:3", seed=7) == DistortionSpec("02", 3, 7)
    assert parse_distortion("gaussian-blur:2") == DistortionSpec("01", 2)
    assert parse_distortion("miqd:fog:4", frozen=True) == DistortionSpec("miqd:fog", 4, frozen=True)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("02", "such as 02:3"),
        ("02:", "such as 02:3"),
        ("31:1", "available: 01 gaussian-blur, 02 lens-blur"),
        ("fog:1", "miqd:fog"),
        ("02:0", "available: 1, 2, 3, 4, 5"),
        ("02:6", "available: 1, 2, 3, 4, 5"),
    ],
)
def test_an_error_lists_what_exists(word: str, message: str):
    with pytest.raises(UsageError, match=message):
        parse_distortion(word)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros((32, 32, 3), np.float32), "uint8"),
        (np.zeros((32, 32), np.uint8), r"\(H, W, 3\)"),
        (np.zeros((32, 32, 4), np.uint8), r"\(H, W, 3\)"),
        (np.zeros((15, 32, 3), np.uint8), "at least 16 x 16"),
        ([[1, 2], [3, 4]], "numpy array"),
    ],
)
def test_what_is_not_an_image_is_refused(image: Any, message: str):
    with pytest.raises(InputError, match=message):
        distort(image, "01", 1, np.random.default_rng(0))


@pytest.mark.parametrize("level", [0, 6, -1])
def test_levels_outside_of_one_to_five_are_refused(level: int, photograph: Image):
    with pytest.raises(UsageError, match="available: 1, 2, 3, 4, 5"):
        distort(photograph, "01", level, np.random.default_rng(0))
    with pytest.raises(UsageError):
        DistortionSpec("01", level)


@pytest.mark.parametrize("line", BOTH, ids=lambda line: line.id)
def test_a_name_may_be_spelled_as_on_the_pages(line: Entry):
    if not line.id.startswith("miqd:"):
        spelled = line.name.replace("color", "Colour").replace("gray", "Grey").replace("-", " ")
        assert entry(spelled) is line


OWN = """
from dataclasses import replace

import numpy as np

from embodied_iqa.imaging.distortions import entry

def _own(operator):
    return replace(entry("01"), operator=operator)

def _raises(image, rng, *parameters):
    raise KeyError("no luck")

raises = _own(_raises)
floats = _own(lambda image, rng, *parameters: image / 255)
none = _own(lambda image, rng, *parameters: None)
half = _own(lambda image, rng, *parameters: image[::2])
mirrored = _own(lambda image, rng, *parameters: image[:, ::-1])
same = _own(lambda image, rng, *parameters: image)
"""


@pytest.fixture
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_distortion.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("_own")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("raises", "fails: KeyError: 'no luck'"),
        ("floats", r"returned \(48, 64, 3\) float64; expected \(48, 64, 3\) uint8"),
        ("none", r"returned NoneType; expected \(48, 64, 3\) uint8"),
        ("half", r"returned \(24, 64, 3\) uint8; expected \(48, 64, 3\) uint8"),
    ],
)
def test_what_is_wrong_with_an_own_distortion_is_reported(name: str, message: str):
    word = f"python:a_distortion:{name}"
    with pytest.raises(InputError, match=f"^{word} {message}$"):
        distort(np.zeros((48, 64, 3), np.uint8), word, 1, np.random.default_rng(0))


@pytest.mark.usefixtures("_own")
def test_an_own_distortion_may_return_a_view_of_its_input():
    image = np.random.default_rng(1).integers(0, 256, (48, 64, 3), dtype=np.uint8)
    for name, expected in (("mirrored", image[:, ::-1]), ("same", image)):
        found = distort(image, f"python:a_distortion:{name}", 1, np.random.default_rng(0))
        assert np.array_equal(found, expected)
        assert found.flags.c_contiguous
        assert not np.may_share_memory(found, image)
