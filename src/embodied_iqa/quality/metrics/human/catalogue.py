"""Human databases by name: ``live:DIR``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from embodied_iqa.base.errors import InputError, UsageError, first_line
from embodied_iqa.base.lazy import load
from embodied_iqa.quality.metrics.human.database import HumanDatabase, HumanPair, csv_rows, opinion_of

_LIVE_FOLDERS: Final = ("jp2k", "jpeg", "wn", "gblur", "fastfading")
_LIVE_REFERENCES: Final = "refimgs"
_KONIQ_FOLDERS: Final = ("1024x768", "512x384")


def read_live(path: Path) -> HumanDatabase:
    """Read LIVE, release 2, the folder ``databaserelease2``: 779 distorted images of 29 references.

    ``dmos_realigned.mat`` (`dmos_new`, `orgs`) and ``refnames_all.mat`` (`refnames_all`) have a column for
    each image: img1.bmp, img2.bmp, ... of the folders in their order. `orgs` marks undistorted images, which
    are left out. Source: Sheikh, Sabir and Bovik, IEEE TIP 15 (11), 2006.

    Raises:
        InputError: A file is missing or of another form.
    """
    dmos = _column(path / "dmos_realigned.mat", "dmos_new").astype(np.float64)
    original = _column(path / "dmos_realigned.mat", "orgs").astype(np.bool_)
    references = [str(np.ravel(cell)[0]) for cell in _column(path / "refnames_all.mat", "refnames_all")]
    files = [f"{folder}/img{at + 1}.bmp" for folder in _LIVE_FOLDERS for at in range(_count(path / folder))]
    if not len(files) == len(dmos) == len(original) == len(references):
        raise InputError(
            f"{path} is not release 2 of LIVE", expected=f"{len(dmos)} images, as opinions", got=len(files)
        )
    rows = zip(files, references, dmos.tolist(), original.tolist(), strict=True)
    pairs = [
        HumanPair(file, f"{_LIVE_REFERENCES}/{reference}", -value)
        for file, reference, value, is_original in rows
        if not is_original
    ]
    return HumanDatabase("live", path, tuple(sorted(pairs, key=lambda pair: pair.reference_id)))


def _count(folder: Path) -> int:
    return sum(file.name.startswith("img") for file in folder.glob("*.bmp"))


def _column(file: Path, name: str) -> Any:
    loadmat = load("scipy.io:loadmat")  # slow to import, and only LIVE has files of MATLAB
    try:
        found = loadmat(str(file))
    except (OSError, ValueError, TypeError, NotImplementedError) as error:
        raise InputError(f"{file} cannot be read: {first_line(error)}") from error
    if name not in found:
        raise InputError(f"{file} has other variables", expected=name)
    return np.ravel(found[name])


def read_tid2013(path: Path) -> HumanDatabase:
    """Read TID2013: 3,000 distorted images of 25 references.

    ``mos_with_names.txt`` has a line for each image: its mean opinion score, a space and its name,
    ``i01_01_1.bmp``, in ``distorted_images``; the reference is ``I01.BMP`` in ``reference_images``. Names
    differ in case between the list and the folders. Source: Ponomarenko et al., SPIC 30, 2015.

    Raises:
        InputError: A file is missing or of another form.
    """
    distorted, references = (_by_lower_name(path / f"{kind}_images") for kind in ("distorted", "reference"))
    pairs = []
    for score, name in _listed(path / "mos_with_names.txt"):
        owner = f"{name.partition('_')[0]}.bmp"
        if name not in distorted or owner not in references:
            raise InputError(f"{path} lacks an image of the list", expected=f"{name} and its reference")
        pairs.append(
            HumanPair(f"distorted_images/{distorted[name]}", f"reference_images/{references[owner]}", score)
        )
    return HumanDatabase("tid2013", path, tuple(sorted(pairs, key=lambda pair: pair.reference_id)))


def read_kadid10k(path: Path) -> HumanDatabase:
    """Read KADID-10k: 10,125 distorted images of 81 references.

    ``dmos.csv`` has the columns `dist_img`, `ref_img`, `dmos` and `var`; images are in ``images``. In spite
    of its name, `dmos` is higher for better images. Source: Lin, Hosu and Saupe, QoMEX 2019.

    Raises:
        InputError: A file is missing or of another form.
    """
    file = path / "dmos.csv"
    pairs = [
        HumanPair(f"images/{row['dist_img']}", f"images/{row['ref_img']}", opinion_of(row["dmos"], file))
        for row in csv_rows(file, ("dist_img", "ref_img", "dmos"))
    ]
    return HumanDatabase("kadid10k", path, tuple(sorted(pairs, key=lambda pair: pair.reference_id)))


def _by_lower_name(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise InputError(f"{folder} is missing", expected="a folder of images")
    return {file.name.lower(): file.name for file in folder.iterdir()}


def _listed(file: Path) -> list[tuple[float, str]]:
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    words = [line.split() for line in lines if line.strip()]
    wrong = [line for line in words if len(line) <= 1]
    if wrong:
        raise InputError(f"{file} has a line of another form", expected="score and name", got=wrong[0])
    return [(opinion_of(line[0], file), line[1].lower()) for line in words]


def read_koniq10k(path: Path) -> HumanDatabase:
    """Read KonIQ-10k: 10,073 images.

    ``koniq10k_scores_and_distributions.csv`` has the columns `image_name` and `MOS` among others; images
    are in ``1024x768`` or ``512x384``, the larger ones first. Source: Hosu et al., IEEE TIP 29, 2020.

    Raises:
        InputError: A file is missing or of another form.
    """
    folder = next((name for name in _KONIQ_FOLDERS if (path / name).is_dir()), None)
    if folder is None:
        raise InputError(f"{path} has no images", expected=f"a folder {' or '.join(_KONIQ_FOLDERS)}")
    file = path / "koniq10k_scores_and_distributions.csv"
    names = [
        (f"{folder}/{row['image_name']}", opinion_of(row["MOS"], file))
        for row in csv_rows(file, ("image_name", "MOS"))
    ]
    pairs = tuple(HumanPair(name, name, opinion, has_reference=False) for name, opinion in names)
    return HumanDatabase("koniq10k", path, pairs)


READERS: Final[Mapping[str, Callable[[Path], HumanDatabase]]] = MappingProxyType(
    {"live": read_live, "tid2013": read_tid2013, "kadid10k": read_kadid10k, "koniq10k": read_koniq10k}
)
"""Readers by name of the database."""


def read_human(text: str) -> HumanDatabase:
    """Read a human database.

    Args:
        text: Its name and its folder, as in ``"live:databaserelease2"``.

    Raises:
        UsageError: Unknown name.
        InputError: The folder has another layout.
    """
    name, colon, folder = text.partition(":")
    if name not in READERS or not colon:
        available = [f"{name}:DIR" for name in READERS]
        raise UsageError("unknown human database", got=text, available=available)
    if not Path(folder).is_dir():
        raise InputError(f"{folder} is not a folder", expected=f"the folder of {name}")
    return READERS[name](Path(folder).resolve())
