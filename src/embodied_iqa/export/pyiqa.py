"""Export for IQA-PyTorch (pyiqa): meta files with the splits as columns, and picture files."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from embodied_iqa.database.splits import SPLIT_SEEDS, training_references
from embodied_iqa.database.store import DatabaseStore
from embodied_iqa.export.opinions import PairOpinions, Target
from embodied_iqa.export.pictures import PictureFile, distorted_pictures, reference_pictures
from embodied_iqa.progress import track

__all__ = ["fill_pyiqa"]

_REFERENCES: Final = Path("pictures", "references")
_PAIRS: Final = Path("pictures", "pairs")
_README: Final = """\
For [IQA-PyTorch](https://github.com/chaofengc/IQA-PyTorch): one meta file a target and kind of metric.

| file | first columns | for |
|---|---|---|
| `meta_info_<target>_fr.csv` | `ref_name`, `dist_name`, `mos`, `std` | `GeneralFRDataset` |
| `meta_info_<target>_nr.csv` | `dist_name`, `mos`, `std` | `GeneralNRDataset` |

Targets: {targets}. `mos` is the mean opinion of the subjects over five tasks, 0 to 5, higher is better; `std`
is its standard deviation over them. Pairs without a score are left out ({left_out}).

Ten splits by reference, 8:2, are columns of the meta files: `split_seed0` to `split_seed9` with `train` and
`val`. In the options of a dataset, paths seen from this folder:

```yaml
dataroot_target: pictures/pairs
dataroot_ref: pictures/references
meta_info_file: meta_info_decision_fr.csv
split_index: split_seed0
mos_range: [0, 5]
lower_better: false
```"""


def fill_pyiqa(store: DatabaseStore, opinions: PairOpinions, folder: Path) -> str:
    """Write the export into an empty folder; return what its README says."""
    pair_ids = opinions.pairs.pair_ids.tolist()
    references = list(store.references(["reference_id"])["reference_id"].to_pylist())
    names_of_references = _write(
        track(reference_pictures(store), "references", len(references)), folder / _REFERENCES
    )
    names_of_pairs = _write(
        track(distorted_pictures(store, pair_ids), "pairs", len(pair_ids)), folder / _PAIRS
    )
    training = [training_references(references, seed) for seed in SPLIT_SEEDS]
    left_out = []
    for name, target in opinions.targets.items():
        rows = _rows(opinions, target, names_of_references, names_of_pairs, training)
        left_out.append(f"{name} {len(pair_ids) - len(rows)}")
        _write_meta(folder / f"meta_info_{name}_fr.csv", rows, full_reference=True)
        _write_meta(folder / f"meta_info_{name}_nr.csv", rows, full_reference=False)
    targets = ", ".join(f"`{name}`" for name in opinions.targets)
    return _README.format(targets=targets, left_out=", ".join(left_out))


def _write(files: Iterable[PictureFile], folder: Path) -> dict[str, str]:
    """Write pictures; return id to file name."""
    folder.mkdir(parents=True)
    names = {}
    for file in files:
        (folder / file.name).write_bytes(file.data)
        names[file.id] = file.name
    return names


def _rows(
    opinions: PairOpinions,
    target: Target,
    references: Mapping[str, str],
    pairs: Mapping[str, str],
    training: list[frozenset[str]],
) -> list[list[str]]:
    rows = []
    for index in np.flatnonzero(np.isfinite(target.mean)):
        pair, reference = str(opinions.pairs.pair_ids[index]), str(opinions.pairs.reference_ids[index])
        splits = ["train" if reference in chosen else "val" for chosen in training]
        numbers = [repr(float(target.mean[index])), repr(float(target.deviation[index]))]
        rows.append([references[reference], pairs[pair], *numbers, *splits])
    return rows


def _write_meta(path: Path, rows: list[list[str]], *, full_reference: bool) -> None:
    head = ["ref_name", "dist_name", "mos", "std", *(f"split_seed{seed}" for seed in SPLIT_SEEDS)]
    start = 0 if full_reference else 1
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(head[start:])
        writer.writerows(row[start:] for row in rows)
