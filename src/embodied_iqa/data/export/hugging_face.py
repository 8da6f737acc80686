"""Export as a folder that `datasets.load_dataset` reads: Parquet with the images in it, and a card."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from embodied_iqa import __version__
from embodied_iqa.base.progress import track
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.export.exported_images import ImageFile, distorted_images, reference_images
from embodied_iqa.data.export.opinions import PairOpinions
from embodied_iqa.data.export.plain import opinion_columns

CONFIGS: Final = ("pairs", "references", "tasks", "scores")
_SHARD_IMAGES: Final = 1500
_GROUP_IMAGES: Final = 100
_IMAGE: Final = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_FEATURES: Final = json.dumps({"info": {"features": {"image": {"_type": "Image"}}}})
"""Tells the library which column is an image; the others follow from their types."""
_README: Final = """\
## Uses

Compare and train metrics of image quality for robots, with or without the reference (`reference_id`).
Not meant: judging a real arm's safety, or ranking the subjects beyond the tasks and scenes at hand.

## Bias and limits

A score is the opinion of the subjects that `scores` names, not of people: other models lose other
things. Metrics that are trained here know the types of distortion that they have seen.{limits}

## Citation

Cite the software and the paper whose definitions these are. The images and scores are your own.

- embodied_iqa maintainers: *{software}*, version {version}
- Chunyi Li and others: *Image Quality Assessment for Embodied AI*, arXiv 2505.16815, 2025

## Contents

| configuration | a row is; what is not known is null, such as `stamp_ns` of a photograph |
|---|---|
| `pairs` (default) | a distorted image (`image`) with the mean opinions and the ten splits by reference |
| `references` | a reference image (`image`) with its labels; `reference_id` joins it to `pairs` |
| `tasks` | a task of a reference |
| `scores` | the score of one subject for one task of a pair |

```python
from datasets import load_dataset

pairs = load_dataset("this/folder", split="train")
references = load_dataset("this/folder", "references", split="train")
training = pairs.filter(lambda split: split == "train", input_columns="split_seed0")  # decodes no image
```

| columns of `pairs` | meaning |
|---|---|
| `pair_id`, `reference_id` | this image and its reference, by which the configurations are joined |
| `distortion_id`, `level` | type of distortion, two digits; 1 to 5, 5 is the strongest |
| `view`, `person` | name of the camera; `first` where `wrist` is in it, else `third` |
| `origin`, `source` | `real` or `simulation`; kind of source, only where it tells more than `origin` |
| `main_object`, `background` | of the reference, empty where unknown |
| `<target>_mean` | mean opinion, 5 times the mean over the tasks: 0 to 5 (best); null where nobody scored |
| `<target>_z_scored` | mean of the subjects' scores, each standardised over the pairs of its subject |
| `<target>_std`, `<target>_subjects` | standard deviation over the subjects, and their number |
| `refused_mean`, `refusal_loss_mean`, `wrong_motion_loss_mean` | losses of decisions, lower is better |
| `cognition_third`, `decision_third` | `mild`, `medium` or `severe`: the third of all scores of the kind |
| `split_seed0` to `split_seed9` | splits for training metrics, 8:2 by reference: `train` and `val` |

Targets are `cognition` with `precision`, `recall` and `semantics`, and `decision` with `position`, `rotation`
and `state`; `wrong_motion` is 5 minus what was lost by motions that end elsewhere, `refusal` 5 minus
five times the share of tasks in which the policy saw no target and moved nothing. The library names the
whole table `train`. `val` is the fifth that is held out for the test, as pyiqa calls it."""
_SOFTWARE: Final = "embodied_iqa: image quality for embodied agents"
_OF_SIMULATED: Final = "Simulated images have plain surfaces and few kinds of objects."
_OF_PHOTOGRAPHS: Final = (
    "Photographs may show what their authors did not mean to publish: look through them first.\n"
    "Where no task file says otherwise, they count as `origin` real, and as of the view that the build\n"
    "was given, `top` by default; `person` follows from its name."
)


def card_head(licence: str) -> list[str]:
    """Return the lines of YAML at the start of the README, by which the library finds the files."""
    tags = ["tags:", "- image-quality-assessment", "- robotics", "task_categories:", "- robotics"]
    lines = ["---", f"license: {json.dumps(licence)}", *tags, "configs:"]
    for name in CONFIGS:
        lines += [f"- config_name: {name}", f"  data_files: {name}/*.parquet"]
        lines += ["  default: true"] if name == CONFIGS[0] else []
    return [*lines, "---", ""]


def fill_hugging_face(store: DatabaseStore, opinions: PairOpinions, folder: Path) -> str:
    """Write the export into an empty folder; return the text of its README."""
    pair_ids = opinions.pairs.pair_ids.tolist()
    pairs = pa.table(opinion_columns(opinions))
    files = track(distorted_images(store, pair_ids), "pairs", len(pair_ids))
    _write_images(folder / "pairs", pairs, files)
    references = store.references().sort_by("reference_id").drop_columns(["cameras", "image"])
    files = track(reference_images(store), "references", references.num_rows)
    _write_images(folder / "references", references, files)
    for name, table in (("tasks", store.tasks()), ("scores", store.scores())):
        (folder / name).mkdir()
        pq.write_table(table, folder / name / f"{name}-00000.parquet", compression="zstd")
    is_real = set(store.references(["real"])["real"].to_pylist())
    limits = [text for real, text in ((False, _OF_SIMULATED), (True, _OF_PHOTOGRAPHS)) if real in is_real]
    return _README.format(
        limits="".join(f"\n{text}" for text in limits), software=_SOFTWARE, version=__version__
    )


def _write_images(folder: Path, table: Any, files: Iterable[ImageFile]) -> None:
    """Write a table with its images, in shards; no more than one group of images is in memory."""
    folder.mkdir()
    schema = pa.schema([pa.field("image", _IMAGE), *table.schema])
    schema = schema.with_metadata({"huggingface": _FEATURES})
    rest = iter(files)
    for number, start in enumerate(range(0, table.num_rows, _SHARD_IMAGES)):
        shard = table.slice(start, _SHARD_IMAGES)
        file = folder / f"{folder.name}-{number:05d}.parquet"
        with pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for group in _groups(shard, rest):
                writer.write_table(group.cast(schema))


def _groups(shard: Any, files: Iterator[ImageFile]) -> Iterator[Any]:
    for first in range(0, shard.num_rows, _GROUP_IMAGES):
        rows = shard.slice(first, _GROUP_IMAGES)
        images = [{"bytes": file.data, "path": file.name} for file in islice(files, rows.num_rows)]
        yield rows.add_column(0, "image", pa.array(images, _IMAGE))
