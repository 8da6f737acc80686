"""Export as a folder that `datasets.load_dataset` reads: Parquet with the images in it, and a card."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from embodied_iqa import __version__
from embodied_iqa.base.progress import track
from embodied_iqa.data.database.schema import SourceKind
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
{summary}

## How it was made

Every subject acts on each task of a reference twice, on the undistorted and on a distorted image; a
score says how much of its answer the distortion left. `dataset.json` records all of it.

| | |
|---|---|
{made}

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

pairs = load_dataset("{this}", split="train")
references = load_dataset("{this}", "references", split="train")
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
THIS: Final = "this/folder"
"""In the examples of the card; an upload puts the repository's name in its place."""
_SIZES: Final = ("", "1K", "10K", "100K", "1M", "10M")
_SIMULATED: Final = "simulated scenes"
_REAL: Final = {
    SourceKind.FOLDER: "photographs",
    SourceKind.RECORDING: "frames of recordings",
    SourceKind.DATASET: "frames of a LeRobot data set",
    SourceKind.VIDEO: "frames of videos",
}
_OF_SIMULATED: Final = "Simulated images have plain surfaces and few kinds of objects."
_OF_REAL: Final = (
    "Images of cameras may show what their owners did not mean to publish: look through them first.\n"
    "Where no task file or recording says otherwise, images count as `origin` real, and as of the view\n"
    "that the build was given, `top` by default; `person` follows from its name."
)


def card_head(licence: str, name: str, pairs: int, language: str | None) -> list[str]:
    """Return the lines of YAML at the start of the README, by which the library finds the files.

    Args:
        licence: Its identifier.
        name: Of the set.
        pairs: Their number.
        language: Of the tasks; None where nobody said.
    """
    tags = ["tags:", "- image-quality-assessment", "- robotics", "task_categories:", "- robotics"]
    lines = ["---", f"license: {json.dumps(licence)}", f"pretty_name: {json.dumps(name)}"]
    lines += ["language:", f"- {language}"] if language else []
    lines += ["size_categories:", f"- {_size_category(pairs)}", *tags, "configs:"]
    for config in CONFIGS:
        lines += [f"- config_name: {config}", f"  data_files: {config}/*.parquet"]
        lines += ["  default: true"] if config == CONFIGS[0] else []
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
    is_real = origins(store)
    limits = [text for real, text in ((False, _OF_SIMULATED), (True, _OF_REAL)) if real in is_real]
    return _README.format(
        limits="".join(f"\n{text}" for text in limits),
        software=_SOFTWARE,
        version=__version__,
        summary=_summary(store, len(pair_ids)),
        made="\n".join(_made(store)),
        this=THIS,
    )


def origins(store: DatabaseStore) -> set[bool]:
    """Return whether references show the real world: False, True or both."""
    return set(store.references(["real"])["real"].to_pylist())


def _summary(store: DatabaseStore, pairs: int) -> str:
    kinds = " and ".join(_kinds(store))
    roles = Counter(subject.role.upper() for subject in store.record().subjects)
    subjects = " and ".join(_plural(count, role) for role, count in sorted(roles.items()))
    references = _plural(store.references(["real"]).num_rows, "reference")
    return (
        f"{_plural(pairs, 'distorted image')} of {references} ({kinds}), scored by {subjects}:\n"
        "what each distortion costs models that answer questions about an image or move a robot arm by it."
    )


def _kinds(store: DatabaseStore) -> Iterator[str]:
    """Yield what the references are, in words, each once; what a simulator drew first."""
    rows = store.references(["real", "source"]).to_pylist()
    real = {SourceKind(row["source"]) for row in rows if row["real"]}
    yield from [_SIMULATED] if not all(row["real"] for row in rows) else []
    yield from dict.fromkeys(_REAL.get(kind, "other images") for kind in sorted(real))


def _made(store: DatabaseStore) -> Iterator[str]:
    """Yield rows of a table: what the record says of the images, and the subjects."""
    record = store.record()
    for name in ("source", "seed", "levels"):
        value = record.plan.get(name)
        if value is not None:
            yield f"| {name} | {str(value).replace('|', ' ')} |"
    yield f"| types of distortion | {len(set(store.pairs(['distortion_id'])['distortion_id'].to_pylist()))} |"
    for role in sorted({subject.role for subject in record.subjects}):
        names = (f"`{subject.name}`" for subject in record.subjects if subject.role is role)
        yield f"| {role.upper()}s | {', '.join(names)} |"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _size_category(pairs: int) -> str:
    """Return the Hub's word for a number of rows."""
    for power, (below, word) in enumerate(itertools.pairwise(_SIZES)):
        if pairs < 1000 * 10**power:
            return f"n<{word}" if power == 0 else f"{below}<n<{word}"
    return f"n>{_SIZES[-1]}"


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
