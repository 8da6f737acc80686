"""Results of failure detectors, stored beside the experiment that they were measured on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.records import read_json, unstructure
from embodied_iqa.runs.peers.comparison import DetectorResult

_FILE: Final = "detectors.json"


@dataclass(frozen=True, slots=True)
class ComparedDetectors:
    """Detectors on the runs of an experiment.

    Attributes:
        rate: Share of clean runs that may have an alarm.
        scenes: Number of scenes.
        detectors: In the order of the table.
    """

    rate: float
    scenes: int
    detectors: tuple[DetectorResult, ...]


def write_detectors(compared: ComparedDetectors, folder: Path) -> None:
    """Write `detectors.json`."""
    write_json_whole(folder / _FILE, unstructure(compared))


def read_detectors(folder: Path) -> ComparedDetectors | None:
    """Return the results of an experiment; None where detectors were not compared.

    Raises:
        InputError: The file is damaged.
    """
    file = folder / _FILE
    return read_json(ComparedDetectors, file, "the results of the detectors") if file.is_file() else None
