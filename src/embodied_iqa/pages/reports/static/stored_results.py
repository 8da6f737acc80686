"""What a folder of results of a static benchmark holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.records import read_json, structure, unstructure
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.suites.static_benchmark.static_to_simulated import S2D_FILE, S2dRow, scores_key
from embodied_iqa.suites.static_benchmark.vla.vla_results import VLA_FILE, VlaResults, read_vla_results
from embodied_iqa.suites.static_benchmark.vlm_scores import VlmScores

VLM_FILE: Final = "vlm.json"
_RECORD: Final = "evaluation.json"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Where results come from.

    Attributes:
        bench: Folder of the benchmark.
    """

    bench: str


@dataclass(frozen=True, slots=True)
class StaticResults:
    """Results of an evaluation; None for what was not evaluated.

    Attributes:
        name: Of the benchmark's folder.
        folder: Of the results.
        bench: The benchmark's folder; it may be gone.
        vlm: Scores of VLMs.
        vla: Scores of VLAs.
        s2d: Correlations with execution, of the present static scores.
        outdated: Number of correlations of other static scores; they are not in `s2d`.
    """

    name: str
    folder: Path
    bench: Path
    vlm: VlmScores | None
    vla: VlaResults | None
    s2d: tuple[S2dRow, ...]
    outdated: int = 0


def is_static_results(folder: Path) -> bool:
    """Whether a folder holds results of a static benchmark."""
    return (folder / _RECORD).is_file()


def check_evaluation(folder: Path, bench: Path) -> None:
    """Check that a folder holds no results of another benchmark.

    Raises:
        InputError: It does.
    """
    if is_static_results(folder) and (found := _record(folder).bench) != str(bench.resolve()):
        raise InputError(f"{folder} holds results of another benchmark", expected="another --out", got=found)


def write_evaluation(folder: Path, bench: Path) -> None:
    """Note where the results in a folder come from.

    Raises:
        InputError: It cannot be written.
    """
    write_json_whole(folder / _RECORD, unstructure(Evaluation(str(bench.resolve()))))


def read_static_results(folder: Path) -> StaticResults:
    """Read everything in a folder of results.

    Raises:
        InputError: There are no results, or a file is damaged.
    """
    bench = Path(_record(folder).bench)
    vlm_file, s2d_file = folder / VLM_FILE, folder / S2D_FILE
    vlm = read_json(VlmScores, vlm_file, "the scores of VLMs") if vlm_file.is_file() else None
    vla = read_vla_results(folder) if (folder / VLA_FILE).is_file() else None
    if vlm is None and vla is None:
        raise InputError(f"{folder} holds no scores", expected=f"{VLM_FILE} or {VLA_FILE}: run it to its end")
    s2d: tuple[S2dRow, ...] = ()
    if s2d_file.is_file():
        s2d = structure(tuple[S2dRow, ...], load_json(s2d_file, "the correlations"), str(s2d_file))
    present = tuple(row for row in s2d if _is_present(row, vla))
    return StaticResults(bench.name, folder, bench, vlm, vla, present, len(s2d) - len(present))


def _is_present(row: S2dRow, vla: VlaResults | None) -> bool:
    """Whether a correlation is of the scores beside it; an evaluation may have come after it."""
    return not row.scores or (vla is not None and row.scores == scores_key(vla, row.subject))


def _record(folder: Path) -> Evaluation:
    return read_json(Evaluation, folder / _RECORD, "the record of the evaluation")
