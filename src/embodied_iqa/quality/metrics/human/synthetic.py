"""TID2013 and KADID-10k: synthetic distortions of clean references."""

from __future__ import annotations

from pathlib import Path

from embodied_iqa.base.errors import InputError
from embodied_iqa.quality.metrics.human.database import HumanDatabase, HumanPair, csv_rows, opinion_of


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
