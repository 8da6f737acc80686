"""`embodied-iqa miqa import`: labels in the published layout of MIQD-2.5M."""

from __future__ import annotations

import argparse
from pathlib import Path

from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.output import print_json
from embodied_iqa.cli.plan_options import seed_number
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.building.published_layout import ImportSummary, import_labels


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help="such as miqa_cls, with src_images, images and labels")
    tasks = [str(task) for task in VisionTask]
    add("--vision-task", required=True, choices=tasks, metavar="NAME", help="of the labels: cls, det or ins")
    add("--out", type=Path, required=True, metavar="MDB", help="new folder, or a database without this task")
    add(
        "--seed",
        type=seed_number,
        default=0,
        metavar="N",
        help="of the split, where the folder has none (0)",
    )
    add("--json", action="store_true", help="print the summary as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Read, report and write; return the exit code."""
    if not arguments.folder.is_dir():
        raise UsageError(f"{arguments.folder} is not a folder", expected="such as miqa_cls")
    summary = import_labels(
        arguments.folder, VisionTask(arguments.vision_task), arguments.out, arguments.seed
    )
    if arguments.json:
        print_json(summary)
    else:
        _print(arguments.out, summary)
    return 0


def _print(path: Path, summary: ImportSummary) -> None:
    manifest = summary.manifest
    print(f"{path}: {manifest.rows} labels of {manifest.task}, {manifest.references} references")
    print(f"split: {'as published' if summary.published_split else f'drawn with seed {manifest.seed}'}")
    counts = {
        "labelled images without a file, left out": summary.missing_images,
        "references without a source image, left out": summary.missing_sources,
        "images with one of two labels, left out": summary.unpaired,
        "references without a mask": summary.without_mask,
    }
    for text, count in counts.items():
        print(f"{text}: {count}")
    if summary.examples:
        print(f"missing, such as: {', '.join(summary.examples)}")
