"""`embodied-iqa distort IN`: distorts an image, a folder or a recording to files, with a manifest."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.distort.data_sets import LEROBOT, copy_dataset
from embodied_iqa.cli.distort.depth_files import DepthFiles
from embodied_iqa.cli.distort.inputs import check_topics, clean_images
from embodied_iqa.cli.output import next_command, print_note
from embodied_iqa.cli.plan_options import RANDOM_LEVEL
from embodied_iqa.data.database.clean_frames import open_clean
from embodied_iqa.data.frames.cameras import topics_of, undistorted_topics
from embodied_iqa.data.frames.image_folder import FolderFrames
from embodied_iqa.imaging.distortions import (
    LEVELS,
    DistortionSpec,
    catalogue,
    entry,
    miqd_catalogue,
    parse_levels,
)
from embodied_iqa.imaging.distortions.batch import (
    BatchOptions,
    CleanImage,
    ImageFormat,
    Job,
    Region,
    expected_record,
    random_level,
    run_jobs,
)
from embodied_iqa.imaging.distortions.manifest import Failure, Manifest, Record, folders_with_outputs
from embodied_iqa.imaging.distortions.region import read_mask
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.imaging.images.stored_images import Frames


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A distortion and its level; None for a random level per image."""

    id: str
    level: int | None


@dataclass(slots=True)
class _Batch:
    """A run: its options, the outputs in its folder, and the numbers of tried, written and kept ones.

    Of the written ones, `replaced` were there, made in another way, which `outdated` names.
    """

    options: BatchOptions
    manifest: Manifest
    outdated: set[str] = field(default_factory=set)
    replaced: int = 0
    done: int = 0
    written: int = 0
    kept: int = 0


def run(arguments: argparse.Namespace) -> int:
    """Make the missing outputs."""
    if not hasattr(arguments, "out"):
        raise UsageError("distorting needs a folder to write to", expected="--out DIR")
    wanted = _wanted(arguments)
    if getattr(arguments, "format", "") == LEROBOT:
        if hasattr(arguments, "depth_out"):
            raise UsageError("--depth-out is of recordings", got=f"--format {LEROBOT}")
        return copy_dataset(arguments, [(one.id, one.level) for one in wanted])
    if hasattr(arguments, "depth_out") and arguments.depth_out.resolve() == arguments.out.resolve():
        raise UsageError("depth beside colour", expected="--depth-out with another folder than --out")
    if hasattr(arguments, "video"):
        raise UsageError("--video needs --format lerobot")
    image_format = ImageFormat(getattr(arguments, "format", ImageFormat.PNG))
    options = BatchOptions(arguments.out, image_format, _region(arguments))
    source = Path(arguments.input)
    workers, frames = _workers(arguments), open_clean(source)
    if isinstance(frames, FolderFrames) and source.is_file():
        read_image(source)  # a file that is not an image must not leave an empty output folder
    _keep_apart(frames, arguments.out)
    topics = tuple(getattr(arguments, "only_topic", ()))
    check_topics(frames, topics)
    topics, left_out = (topics_of(frames, topics), "") if topics else undistorted_topics(frames)
    depth = DepthFiles(frames, topics, arguments.depth_out) if hasattr(arguments, "depth_out") else None
    total = frames.count(topics) * len(wanted)
    with JobFolder(arguments.out, "distortion of images").locked(), ProgressBars() as bars:
        batch = _Batch(options, Manifest(arguments.out))
        batch.manifest.begin()
        images = clean_images(frames, topics, None if depth is None else depth.keep)
        try:
            jobs = _jobs(batch, images, wanted, getattr(arguments, "seed", 0))
            for result in run_jobs(jobs, options, workers):
                batch.manifest.add(result)
                batch.done += 1
                batch.written += isinstance(result, Record)
                batch.replaced += isinstance(result, Record) and result.output in batch.outdated
                bars.update("distorting", batch.done + batch.kept, total)
        finally:
            batch.manifest.finish()
            notes = () if depth is None else depth.close()
    _report(arguments, batch, [*filter(None, [frames.note, left_out]), *notes])
    return 1 if batch.manifest.failed else 0


def _keep_apart(frames: Frames, out: Path) -> None:
    """Leave out images that this command wrote below the source before, so that none is distorted twice."""
    if not isinstance(frames, FolderFrames) or frames.path.is_file():
        return
    if out.resolve() == frames.path.resolve():
        raise UsageError(
            "distorted images among their sources", expected="--out with another folder", got=out
        )
    frames.leave_out(out)
    for folder in folders_with_outputs(frames.path):
        frames.leave_out(folder)


def _wanted(arguments: argparse.Namespace) -> list[_Wanted]:
    region = hasattr(arguments, "region")
    if region and hasattr(arguments, "levels"):
        raise UsageError("with --region, --inside and --outside set the levels", got="--levels")
    levels = [arguments.inside] if region and hasattr(arguments, "inside") else _levels(arguments)
    entries = catalogue() if getattr(arguments, "all", False) else ()
    if getattr(arguments, "all_miqd", False):
        entries += miqd_catalogue()
    wanted = [_Wanted(found.id, level) for found in entries for level in levels]
    own: set[tuple[str, int | None]] = set()
    for word in getattr(arguments, "distortion", []):
        name, _, last = word.rpartition(":")
        if name and last.isdecimal():
            if region:
                raise UsageError("with --region, --inside and --outside set the levels", got=word)
            wanted.append(_Wanted(entry(name).id, _level(last)))
            own.add((wanted[-1].id, wanted[-1].level))
        else:
            wanted += [_Wanted(entry(word).id, level) for level in levels]
    if hasattr(arguments, "levels") and {(one.id, one.level) for one in wanted} == own:
        raise UsageError("every distortion has its level", expected="no --levels", got=arguments.levels)
    if not wanted:
        raise UsageError("nothing to make", expected="--distortion ID[:LEVEL], --all or --all-miqd")
    return list(dict.fromkeys(wanted))


def _levels(arguments: argparse.Namespace) -> list[int | None]:
    text = getattr(arguments, "levels", None)
    if text is None:
        return list(LEVELS)
    return [None] if text == RANDOM_LEVEL else list(parse_levels(text))


def _level(word: str | int) -> int:
    if not str(word).isdecimal() or int(word) not in LEVELS:
        raise UsageError("unknown distortion level", got=word, available=LEVELS)
    return int(word)


def _region(arguments: argparse.Namespace) -> Region | None:
    given = [name for name in ("region", "inside", "outside") if hasattr(arguments, name)]
    if not given:
        return None
    if len(given) < 3:
        raise UsageError("a region needs three options", expected="--region MASK --inside L --outside L")
    _level(arguments.inside)
    return Region(read_mask(arguments.region), _level(arguments.outside))


def _workers(arguments: argparse.Namespace) -> int:
    workers = getattr(arguments, "workers", None)
    if workers is not None and workers < 1:
        raise UsageError("too few workers", expected="1 or more", got=workers)
    return workers or len(os.sched_getaffinity(0))


def _jobs(
    batch: _Batch, images: Iterator[CleanImage | Failure], wanted: list[_Wanted], seed: int
) -> Iterator[Job]:
    """Yield the missing outputs; existing ones that were made in the same way are kept."""
    for image in images:
        if isinstance(image, Failure):
            batch.manifest.add(image)
            batch.done += len(wanted)
            continue
        specs = []
        for want in wanted:
            key = image.name if image.stamp_ns is not None else _digest(image)
            level = random_level(seed, want.id, key) if want.level is None else want.level
            specs.append(DistortionSpec(want.id, level, seed))
        missing = _missing(batch, image, specs)
        batch.kept += len(specs) - len(missing)
        yield from (Job(image, spec) for spec in missing)


def _missing(batch: _Batch, image: CleanImage, specs: list[DistortionSpec]) -> list[DistortionSpec]:
    digest = ""
    missing = []
    for spec in specs:
        found = batch.manifest.find(expected_record(image, spec, batch.options, "").output)
        if found is not None:
            digest = digest or _digest(image)
        if found is None or not found.same_recipe_as(expected_record(image, spec, batch.options, digest)):
            missing.append(spec)
            batch.outdated |= set() if found is None else {found.output}
    return missing


def _digest(image: CleanImage) -> str:
    try:
        return image.sha256()
    except InputError:
        return "unreadable"  # the worker reports the reason


def _output_folder(arguments: argparse.Namespace, batch: _Batch) -> Path:
    """Return the folder of what was made; of an image beside its outputs that of one distortion."""
    out: Path = arguments.out
    if Path(arguments.input).resolve().parent != out.resolve():
        return out
    return out / Path(batch.manifest.records[-1].output).parts[0]


def _report(arguments: argparse.Namespace, batch: _Batch, notes: Sequence[str]) -> None:
    out, failed = arguments.out, batch.manifest.failed
    if getattr(arguments, "json", False):
        tree = {"made": batch.written, "replaced": batch.replaced, "kept": batch.kept}
        lists = {"failed": [asdict(failure) for failure in failed], "manifest": str(out / "manifest.json")}
        print(json.dumps(tree | lists))
    else:
        made = f"{batch.written} images made{f' ({batch.replaced} replaced)' if batch.replaced else ''}"
        print(f"{made}, {batch.kept} already existed: {out / 'manifest.csv'}")
        if batch.written or batch.kept:
            next_command(
                "metrics", "score", "psnr", _output_folder(arguments, batch), "--reference", arguments.input
            )
    for note in notes:
        print_note(note)
    for failure in failed:
        print(f"embodied-iqa: {failure.reason}", file=sys.stderr)
