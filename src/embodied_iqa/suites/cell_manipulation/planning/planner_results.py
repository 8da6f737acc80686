"""Result files of the protocol, and the transcripts beside them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.files import write_json_whole, write_text_whole
from embodied_iqa.base.records import read_json, unstructure
from embodied_iqa.suites.cell_manipulation.episodes import Episode, Subset
from embodied_iqa.suites.cell_manipulation.planning.transcript import Ending, Transcript

PLAN_FILE: Final = "run.json"
TRANSCRIPTS: Final = "transcripts"
_RESULTS: Final = "results"


@dataclass(frozen=True, slots=True)
class SubsetSummary:
    """`summary.json` of a subset, with the protocol's names.

    Attributes:
        total_num_tasks: Episodes.
        num_success: Solved ones.
        success_rate: Their share in [0, 1].
        avg_planner_steps: Mean number of questions to the planner.
        output_format_error: Answers that are not plans, of all episodes.
    """

    total_num_tasks: int
    num_success: int
    success_rate: float
    avg_planner_steps: float
    output_format_error: int


def subset_folder(out: Path, arm: str, subset: Subset) -> Path:
    """Return the folder of the results of an arm and a subset."""
    return out / arm / str(subset)


def transcript_file(out: Path, arm: str, episode: Episode) -> Path:
    """Return the file of an episode's transcript; it is written last, so that it says what is finished."""
    return subset_folder(out, arm, episode.subset) / TRANSCRIPTS / f"episode_{episode.index}.json"


def write_episode(out: Path, transcript: Transcript, *, as_published: bool) -> None:
    """Write an episode's result, the planner's answers and the transcript.

    Raises:
        InputError: A file cannot be written.
    """
    episode = transcript.episode
    folder = subset_folder(out, transcript.arm, episode.subset) / _RESULTS
    tree = protocol_result(transcript, as_published=as_published)
    write_json_whole(folder / f"episode_{episode.index}_res.json", tree)
    answers = "\n".join(turn.answer for turn in transcript.turns)
    write_text_whole(folder / f"planner_output_episode_{episode.index}.txt", answers + "\n")
    write_json_whole(transcript_file(out, transcript.arm, episode), unstructure(transcript))


def protocol_result(transcript: Transcript, *, as_published: bool) -> dict[str, object]:
    """Return `episode_N_res.json` with the keys of the protocol.

    Args:
        transcript: The episode.
        as_published: An empty plan sets the number of errors to -1.
    """
    rewards: list[float] = []
    valid: list[float] = []
    for turn in transcript.turns:
        for step in turn.steps:
            rewards.append(step.reward)
            valid.append(0.0 if step.fault else 1.0)
        if turn.error or turn.held:
            rewards.append(-1.0 if turn.error else 0.0)
            valid.append(0.0)
    errors = transcript.format_errors
    if as_published and transcript.ending is Ending.EMPTY_PLAN:
        errors = -1
    return {
        "instruction": transcript.episode.instruction,
        "reward": rewards,
        "action_success": valid,
        "avg_reward": sum(rewards) / len(rewards) if rewards else 0.0,
        "task_success": float(transcript.success),
        "num_steps": len(rewards),
        "planner_steps": len(transcript.turns),
        "planner_output_error": errors,
        "episode_elapsed_seconds": transcript.elapsed_s,
    }


def read_transcripts(out: Path) -> Iterator[Transcript]:
    """Yield the transcripts of a run, by arm, subset and number.

    Raises:
        InputError: A file is damaged.
    """
    files = out.glob(f"*/*/{TRANSCRIPTS}/episode_*.json")
    for file in sorted(files, key=lambda path: (path.parts[-4:-2], int(path.stem.rpartition("_")[2]))):
        yield read_json(Transcript, file, "the transcript")


def summarize(transcripts: Iterable[Transcript], *, as_published: bool) -> SubsetSummary:
    """Return the summary of a subset's episodes; there must be one."""
    records = list(transcripts)
    errors = [protocol_result(one, as_published=as_published)["planner_output_error"] for one in records]
    success = sum(one.success for one in records)
    return SubsetSummary(
        len(records),
        success,
        success / len(records),
        sum(len(one.turns) for one in records) / len(records),
        sum(max(0, error) for error in errors if isinstance(error, int)),
    )


def write_summaries(out: Path, *, as_published: bool) -> dict[tuple[str, Subset], SubsetSummary]:
    """Write `summary.json` of each arm and subset, and return them.

    Raises:
        InputError: A file is damaged or cannot be written.
    """
    groups: dict[tuple[str, Subset], list[Transcript]] = {}
    for one in read_transcripts(out):
        groups.setdefault((one.arm, one.episode.subset), []).append(one)
    summaries = {key: summarize(found, as_published=as_published) for key, found in groups.items()}
    for (arm, subset), summary in summaries.items():
        write_json_whole(subset_folder(out, arm, subset) / "summary.json", unstructure(summary))
    return summaries


def config_text(tree: object) -> str:
    """Return `config.txt`: the options of a run."""
    return json.dumps(tree, indent=1, sort_keys=True) + "\n"
