"""Names of distorted images, as published."""

from __future__ import annotations

import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.distortions import entry
from embodied_iqa.imaging.distortions.region import RegionMode
from embodied_iqa.suites.miqa.names import TYPES, ImageName, all_names, parse_name


def test_a_reference_has_250_names_which_say_what_they_are() -> None:
    names = all_names("ILSVRC2012_val_00000293")
    assert len({name.file for name in names}) == 250
    assert [parse_name(name.file) for name in names] == list(names)
    assert [parse_name(name.path) for name in names] == list(names)
    for kind in TYPES:
        modes = [name.mode for name in names if name.kind == kind]
        counts = [modes.count(mode) for mode in (RegionMode.UNIFORM, RegionMode.ROI, RegionMode.BACKGROUND)]
        assert counts == [5, 10, 10]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("a_b_fog_3.png", ImageName("a_b", "fog", 3, 3)),
        ("7_jpeg_compression_fg_stronger_fg5_bg2.png", ImageName("7", "jpeg_compression", 5, 2)),
        ("7_snow_bg_stronger_fg1_bg4.png", ImageName("7", "snow", 1, 4)),
        ("x_fog_1_snow_2.png", ImageName("x_fog_1", "snow", 2, 2)),
    ],
)
def test_published_names(file: str, expected: ImageName) -> None:
    assert parse_name(file) == expected
    assert expected.file == file


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "a/../a_fog_3.png",
        "b/a_fog_3.png",
        "/a/a_fog_3.png",
        "../x_fog_3.png",
        ".._fog_3.png",
        "a\n_fog_3.png",
        "a\\b_fog_3.png",
        "_fog_3.png",
        "a_fog_6.png",
        "a_fog_٣.png",
        "a_mist_3.png",
        "a_fog_3.jpg",
        "a_fog_fg_stronger_fg2_bg2.png",
        "a_fog_fg_stronger_fg2_bg4.png",
        "a_fog_bg_stronger_fg4_bg2.png",
        f"{'n' * 300}_fog_3.png",
        "",
    ],
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InputError):
        parse_name(name)


def test_every_type_is_in_the_catalogue() -> None:
    assert len({entry(distortion).id for distortion in TYPES.values()}) == 10
