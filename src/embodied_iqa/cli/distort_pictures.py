"""`embodied-iqa distort IN`: distorts a picture, a folder or a recording to files, with a manifest."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from embodied_iqa.cli.distort_inputs import Source, count_sources, sources
from embodied_iqa.cli.distort_progress import progress_bar
from embodied_iqa.distortions import LEVELS, DistortionSpec, catalogue, entry, miqd_catalogue
from embodied_iqa.distortions.batch import (
    Job,
    Region,
    Setting,
    expected_record,
    random_level,
    run_jobs,
    sha256_of_source,
)
from embodied_iqa.distortions.manifest import Manifest
from embodied_iqa.distortions.region import read_mask
from embodied_iqa.errors import UsageError

__all__ = ["run"]

_RANDOM = "random"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A distortion and its level; None for a random one a picture."""

    id: str
    level: int | None


@dataclass(slots=True)
class _Count:
    made: int = 0
    kept: int = 0


def run(arguments: argparse.Namespace) -> int:
    """Distort everything that is not there yet."""
    if not hasattr(arguments, "out"):
        raise UsageError("distorting needs a folder to write to", expected="--out DIR")
    wanted = _wanted(arguments)
    setting = Setting(arguments.out, getattr(arguments, "format", "png"), _region(arguments))
    seed, workers = getattr(arguments, "seed", 0), _workers(arguments)
    path, manifest, count = Path(arguments.input), Manifest(arguments.out), _Count()
    with progress_bar() as bar:
        task = bar.add_task("distorting", total=count_sources(path) * len(wanted))
        jobs = _jobs(sources(path), wanted, seed=seed, setting=setting, manifest=manifest, count=count)
        for records in run_jobs(jobs, setting, workers):
            manifest.add(records)
            count.made += len(records)
            bar.update(task, completed=count.made + count.kept)
    manifest.finish()
    _report(arguments, count)
    return 0


def _wanted(arguments: argparse.Namespace) -> list[_Wanted]:
    region = hasattr(arguments, "region")
    if region and hasattr(arguments, "levels"):
        raise UsageError("with --region, --inside and --outside say the levels", got="--levels")
    levels = [arguments.inside] if region and hasattr(arguments, "inside") else _levels(arguments)
    words = list(getattr(arguments, "type", []))
    lines = catalogue() if getattr(arguments, "all", False) else ()
    more = miqd_catalogue() if getattr(arguments, "all_miqd", False) else ()
    wanted = [_Wanted(line.id, level) for line in (*lines, *more) for level in levels]
    for word in words:
        name, _, last = word.rpartition(":")
        if name and last.isdecimal():
            if region:
                raise UsageError("with --region, --inside and --outside say the levels", got=word)
            wanted.append(_Wanted(entry(name).id, _level(last)))
        else:
            wanted += [_Wanted(entry(word).id, level) for level in levels]
    if not wanted:
        raise UsageError("nothing to make", expected="--type T[:L], --all or --all-miqd")
    return list(dict.fromkeys(wanted))


def _levels(arguments: argparse.Namespace) -> list[int | None]:
    text = getattr(arguments, "levels", None)
    if text is None:
        return list(LEVELS)
    return [None] if text == _RANDOM else [_level(word) for word in text.split(",")]


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
    found: Iterator[Source],
    wanted: list[_Wanted],
    *,
    seed: int,
    setting: Setting,
    manifest: Manifest,
    count: _Count,
) -> Iterator[Job]:
    """Yield what is left to do: outputs that are there, made in the same way, are kept."""
    for source in found:
        specs = []
        for want in wanted:
            level = random_level(seed, want.id, source.name) if want.level is None else want.level
            specs.append(DistortionSpec(want.id, level, seed))
        job = Job(source.name, source.view, source.stamp_ns, source.picture, tuple(specs))
        left = _left(job, setting, manifest)
        count.kept += len(specs) - len(left)
        if left:
            yield Job(job.name, job.view, job.stamp_ns, job.source, left)


def _left(job: Job, setting: Setting, manifest: Manifest) -> tuple[DistortionSpec, ...]:
    digest = ""
    left = []
    for spec in job.specs:
        found = manifest.find(expected_record(job, spec, setting, "").output)
        if found is not None:
            digest = digest or sha256_of_source(job.source)
        if found is None or not found.made_as(expected_record(job, spec, setting, digest)):
            left.append(spec)
    return tuple(left)


def _report(arguments: argparse.Namespace, count: _Count) -> None:
    out = arguments.out
    if getattr(arguments, "json", False):
        manifest = str(out / "manifest.json")
        print(json.dumps({"made": count.made, "kept": count.kept, "manifest": manifest}))
    else:
        print(f"{count.made} pictures made, {count.kept} were there: {out / 'manifest.csv'}")
