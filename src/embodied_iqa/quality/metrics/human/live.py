"""LIVE Image Quality Assessment Database, release 2: 779 distorted images of 29 references.

``dmos_realigned.mat`` (`dmos_new`, `orgs`) and ``refnames_all.mat`` (`refnames_all`) have a column for each
image: img1.bmp, img2.bmp, ... of the folders jp2k, jpeg, wn, gblur and fastfading in this order. `orgs`
marks undistorted images, which are left out. Source: Sheikh, Sabir and Bovik, IEEE TIP 15 (11), 2006.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.io import loadmat

from embodied_iqa.base.errors import InputError, first_line
from embodied_iqa.quality.metrics.human.database import HumanDatabase, HumanPair

FOLDERS: Final = ("jp2k", "jpeg", "wn", "gblur", "fastfading")
REFERENCES: Final = "refimgs"


def read_live(path: Path) -> HumanDatabase:
    """Read the folder ``databaserelease2``.

    Raises:
        InputError: A file is missing or of another form.
    """
    dmos = _column(path / "dmos_realigned.mat", "dmos_new").astype(np.float64)
    original = _column(path / "dmos_realigned.mat", "orgs").astype(np.bool_)
    references = [str(np.ravel(cell)[0]) for cell in _column(path / "refnames_all.mat", "refnames_all")]
    files = [f"{folder}/img{at + 1}.bmp" for folder in FOLDERS for at in range(_count(path / folder))]
    if not len(files) == len(dmos) == len(original) == len(references):
        raise InputError(
            f"{path} is not release 2 of LIVE", expected=f"{len(dmos)} images, as opinions", got=len(files)
        )
    rows = zip(files, references, dmos.tolist(), original.tolist(), strict=True)
    pairs = [
        HumanPair(file, f"{REFERENCES}/{reference}", -value)
        for file, reference, value, is_original in rows
        if not is_original
    ]
    return HumanDatabase("live", path, tuple(sorted(pairs, key=lambda pair: pair.reference_id)))


def _count(folder: Path) -> int:
    return sum(file.name.startswith("img") for file in folder.glob("*.bmp"))


def _column(file: Path, name: str) -> Any:
    try:
        found = loadmat(str(file))
    except (OSError, ValueError, TypeError, NotImplementedError) as error:
        raise InputError(f"{file} cannot be read: {first_line(error)}") from error
    if name not in found:
        raise InputError(f"{file} has other variables", expected=name)
    return np.ravel(found[name])
