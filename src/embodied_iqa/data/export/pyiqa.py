"""Export for IQA-PyTorch (pyiqa): meta files with the splits as columns, and image files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np

from embodied_iqa.base.progress import track
from embodied_iqa.data.database.splits import split_columns
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.export.exported_images import ImageFile, distorted_images, reference_images
from embodied_iqa.data.export.opinions import PairOpinions
from embodied_iqa.data.export.plain import write_csv

_REFERENCES: Final = Path("images", "references")
_PAIRS: Final = Path("images", "pairs")
_README: Final = """\
For [IQA-PyTorch](https://github.com/chaofengc/IQA-PyTorch): one meta file a target and kind of metric.

| file | first columns | for |
|---|---|---|
| `meta_info_<target>_fr.csv` | `ref_name`, `dist_name`, `mos`, `std` | `GeneralFRDataset` |
| `meta_info_<target>_nr.csv` | `dist_name`, `mos`, `std` | `GeneralNRDataset` |

Targets: {targets}.
A target without a score has no file. `mos` is the mean opinion of the subjects, 5 times the mean over the
tasks: 0 to 5 (best); `std` is its standard deviation over them.
`wrong-motion` is 5 minus what was lost by motions that end elsewhere, `refusal` 5 minus five times the share
of tasks in which the policy saw no target and moved nothing. Pairs without a score are left out ({left_out}).

Ten splits by reference, 8:2, are columns of the meta files: `split_seed0` to `split_seed9` with `train` and
`val`, as pyiqa calls the fifth that is held out for the test. In the options of a dataset, paths seen from
this folder:

```yaml
dataroot_target: images/pairs
dataroot_ref: images/references
meta_info_file: meta_info_{example}_fr.csv
split_index: split_seed0
mos_range: [0, 5]
lower_better: false
```"""


def fill_pyiqa(store: DatabaseStore, opinions: PairOpinions, folder: Path) -> str:
    """Write the export into an empty folder; return the text of its README."""
    pairs, references = opinions.pairs.pair_ids.tolist(), opinions.pairs.reference_ids.tolist()
    files = track(reference_images(store), "references", len(set(references)))
    reference_names = _write(files, folder / _REFERENCES)
    files = track(distorted_images(store, pairs), "pairs", len(pairs))
    pair_names = _write(files, folder / _PAIRS)
    splits = split_columns(references)
    left_out, written = [], []
    for name, target in opinions.targets.items():
        rows = [
            [
                reference_names[references[index]],
                pair_names[pairs[index]],
                repr(float(target.mean[index])),
                repr(float(target.deviation[index])),
                *(column[index] for column in splits.values()),
            ]
            for index in np.flatnonzero(np.isfinite(target.mean))
        ]
        left_out.append(f"{name} {len(pairs) - len(rows)}")
        if not rows:
            continue
        written.append(name)
        head = ["ref_name", "dist_name", "mos", "std", *splits]
        write_csv(folder / f"meta_info_{name}_fr.csv", head, rows)
        write_csv(folder / f"meta_info_{name}_nr.csv", head[1:], (row[1:] for row in rows))
    targets = ", ".join(f"`{name}`" for name in written)
    example = "decision" if "decision" in written or not written else written[0]
    return _README.format(targets=targets, left_out=", ".join(left_out), example=example)


def _write(files: Iterable[ImageFile], folder: Path) -> dict[str, str]:
    """Write images; return id to file name."""
    folder.mkdir(parents=True)
    names = {}
    for file in files:
        (folder / file.name).write_bytes(file.data)
        names[file.id] = file.name
    return names
