"""KonIQ-10k: photographs as people upload them, without references."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.quality.metrics.human.database import HumanDatabase, HumanPair, csv_rows, opinion_of

_FOLDERS: Final = ("1024x768", "512x384")


def read_koniq10k(path: Path) -> HumanDatabase:
    """Read KonIQ-10k: 10,073 images.

    ``koniq10k_scores_and_distributions.csv`` has the columns `image_name` and `MOS` among others; images
    are in ``1024x768`` or ``512x384``, the larger ones first. Source: Hosu et al., IEEE TIP 29, 2020.

    Raises:
        InputError: A file is missing or of another form.
    """
    folder = next((name for name in _FOLDERS if (path / name).is_dir()), None)
    if folder is None:
        raise InputError(f"{path} has no images", expected=f"a folder {' or '.join(_FOLDERS)}")
    file = path / "koniq10k_scores_and_distributions.csv"
    names = [
        (f"{folder}/{row['image_name']}", opinion_of(row["MOS"], file))
        for row in csv_rows(file, ("image_name", "MOS"))
    ]
    pairs = tuple(HumanPair(name, name, opinion, has_reference=False) for name, opinion in names)
    return HumanDatabase("koniq10k", path, pairs)
