"""Names of distorted images, as MIQD-2.5M publishes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.distortions.region import RegionMode, region_combinations, region_mode

TYPES: Final = MappingProxyType(
    {
        "gaussian_noise": "miqd:gaussian-noise",
        "glass_blur": "miqd:glass-blur",
        "motion_blur": "miqd:motion-blur",
        "defocus_blur": "miqd:defocus-blur",
        "contrast": "miqd:contrast",
        "pixelate": "miqd:pixelate",
        "jpeg_compression": "miqd:jpeg",
        "darkness": "miqd:darkness",
        "snow": "miqd:snow",
        "fog": "miqd:fog",
    }
)
"""Published name of a type to its distortion in the catalogue."""

_STRONGER: Final = {RegionMode.ROI: "fg_stronger", RegionMode.BACKGROUND: "bg_stronger"}
_FORM: Final = re.compile(
    rf"(?P<reference>.+)_(?P<kind>{'|'.join(TYPES)})_"
    r"(?:(?P<level>[1-5])|(?P<stronger>[fb]g_stronger)_fg(?P<inside>[1-5])_bg(?P<outside>[1-5]))",
    re.ASCII,
)
_HOSTILE: Final = re.compile(r"[/\\\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class ImageName:
    """What the name of a distorted image says.

    Attributes:
        reference: Name of the source image, without suffix.
        kind: Type of the distortion, one of `TYPES`.
        inside: Level inside the region of interest, 1 to 5.
        outside: Level of the background, 1 to 5.
    """

    reference: str
    kind: str
    inside: int
    outside: int

    @property
    def mode(self) -> RegionMode:
        """The part that is distorted more."""
        return region_mode(self.inside, self.outside)

    @property
    def file(self) -> str:
        """File name: ``NAME_fog_3.png``, ``NAME_fog_fg_stronger_fg4_bg1.png``."""
        if self.mode is RegionMode.UNIFORM:
            return f"{self.reference}_{self.kind}_{self.inside}.png"
        return f"{self.reference}_{self.kind}_{_STRONGER[self.mode]}_fg{self.inside}_bg{self.outside}.png"

    @property
    def path(self) -> str:
        """Path below ``images/``, which identifies the image."""
        return f"{self.reference}/{self.file}"


def parse_name(text: str) -> ImageName:
    """Return what a file name, or a path below ``images/``, says.

    Raises:
        InputError: It has another form, levels that contradict its mode, or leads out of the folder.
    """
    folder, _, file = text.rpartition("/")
    found = _FORM.fullmatch(file.removesuffix(".png"))
    if found is None or not file.endswith(".png") or folder not in {"", found["reference"]}:
        raise InputError("not the name of a distorted image", expected="such as A/A_fog_3.png", got=text)
    check_reference(found["reference"])
    levels = (found["level"], found["level"]) if found["level"] else (found["inside"], found["outside"])
    name = ImageName(found["reference"], found["kind"], int(levels[0]), int(levels[1]))
    if name.file != file:
        raise InputError("the levels of an image contradict its mode", expected=name.file, got=file)
    return name


def check_reference(name: str) -> str:
    """Return the name of a source image that can be a folder.

    Raises:
        InputError: It is empty or hidden, leads elsewhere, or holds control characters.
    """
    if not name or name.startswith(".") or len(name.encode()) > 180 or _HOSTILE.search(name):
        raise InputError("not a name of a source image", expected="a plain file name", got=name)
    return name


@cache
def all_names(reference: str) -> tuple[ImageName, ...]:
    """Return the 250 names of a reference: 10 types of 25 pairs of levels, type by type."""
    return tuple(
        ImageName(reference, kind, inside, outside)
        for kind in TYPES
        for inside, outside in region_combinations()
    )
