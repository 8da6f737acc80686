"""What the values of a metric depend on, and metrics to train by name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from embodied_iqa import __version__
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.base.lazy import load
from embodied_iqa.base.records import Plain, unstructure
from embodied_iqa.base.user_code import PREFIX, load_factory
from embodied_iqa.quality.metrics.catalogue import close_metric, metric_by_name
from embodied_iqa.quality.metrics.learned.card import load_metric_card
from embodied_iqa.quality.metrics.learned.trained import model_folder
from embodied_iqa.quality.metrics.metric import MetricInfo
from embodied_iqa.quality.metrics.trainable import Trainable

_MOST_FILES: Final = 1000
_PYIQA: Final = "pyiqa:"


def described(name: str) -> tuple[MetricInfo, str]:
    """Return a metric's description, and a hash of what its values depend on: files and this package.

    Files are those of a folder or file in the name (`trained:DIR`, `trained:DIR#calibrated`,
    `pyiqa:NAME@FILE`), of a trained metric of this package, or the user's module. Where they are does not
    matter.

    Raises:
        UsageError: Unknown metric.
        InputError: A file cannot be read, or the folder holds more than a thousand.
    """
    metric = metric_by_name(name)
    info = metric.info
    close_metric(metric)
    name, place = _place_of(name)
    files = [] if place is None else _hashes(place)
    description = repr(unstructure(replace(info, name=name)))
    return info, digest_of("metric", name, __version__, description, files)


def trained_here(names: Iterable[str], database_plan: Mapping[str, Plain]) -> dict[str, str]:
    """Return the metrics that were trained on a database of a plan, and on which split of it.

    Args:
        names: Of metrics that are tested as they are.
        database_plan: Of the database of the benchmark.
    """
    folders = {name: model_folder(name) for name in names}
    origins = {name: load_metric_card(folder).database for name, folder in folders.items() if folder}
    made = json.dumps(database_plan)
    return {name: str(one.get("split")) for name, one in origins.items() if one.get("plan") == made}


def _place_of(name: str) -> tuple[str, Path | None]:
    """Return the name without the place of its files, and that place; None where it has none."""
    if name.startswith(PREFIX):
        module = load(name.removeprefix(PREFIX).partition(":")[0])
        own = getattr(module, "__file__", None)
        return name, None if own is None else Path(own)
    if name.startswith(_PYIQA):
        bare, at, weights = name.partition("@")
        return bare, Path(weights) if at else None
    kind, _, rest = name.partition(":")
    folder, _, variant = rest.partition("#")
    place = model_folder(name) or Path(folder)
    if place == Path() or not place.exists():
        return name, None
    return f"{kind}#{variant}", place


def _hashes(path: Path) -> list[tuple[str, str]]:
    if path.is_file():
        return [(path.name, sha256_of(path))]
    files = sorted(file for file in path.rglob("*") if file.is_file())
    if len(files) > _MOST_FILES:
        raise InputError(f"{path} is not the folder of a metric", expected="a few files", got=len(files))
    return [(str(file.relative_to(path)), sha256_of(file)) for file in files]


def trainable_of(name: str) -> Trainable:
    """Return a metric to train by name; `python:MODULE:FACTORY` is one in the user's own code.

    Raises:
        UsageError: Unknown name.
        InputError: The user's code fails, or makes something else.
    """
    if not name.startswith(PREFIX):
        known: Trainable = load("embodied_iqa.quality.metrics.training.recipes:trainable_by_name")(name)
        return known
    made = load_factory(name.removeprefix(PREFIX))()
    if not isinstance(made, Trainable):
        raise InputError(f"{name} makes something else", expected="a Trainable", got=type(made).__name__)
    return made
