"""Kinds of kills of `bench_kills.py`, what each lost, and their table; options of benchmarks that kill."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.records import read_json, unstructure


class Kind(StrEnum):
    """What is killed."""

    RECORDER = "recorder"
    BUILD = "build"
    EXPERIMENT = "experiment"
    TRIAL = "trial"

    @property
    def promise(self) -> str:
        """What the documentation promises."""
        return {
            Kind.RECORDER: "`recover` keeps all but about the last second",
            Kind.BUILD: "the same command ends with the same bytes in every file",
            Kind.EXPERIMENT: "the same command ends with the same bytes in every file",
            Kind.TRIAL: "its nodes end, the recording can be read, `report` reports what was recorded",
        }[self]

    @property
    def most_lost_s(self) -> float:
        """Longest end of a recording that may be missing [s]: a flush period, and its messages on the way."""
        return 2.0


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill.

    Attributes:
        kind: What was killed.
        at_s: After its start, or that of its recording [s].
        lost_s: Duration of the end of the recording that is missing [s].
        problem: What was lost beyond the promise; empty for nothing.
    """

    kind: Kind
    at_s: float
    lost_s: float = 0.0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Kills:
    """All kills of a file."""

    kills: tuple[Kill, ...]


def read(path: Path | None) -> list[Kill]:
    """Return the kills of a file; none where there is no file."""
    if path is None or not path.is_file():
        return []
    return list(read_json(Kills, path, "the kills in").kills)


def write(path: Path, done: list[Kill]) -> None:
    """Write all kills."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json_whole(path, unstructure(Kills(tuple(done))))


def table(done: list[Kill]) -> str:
    """Return the results as a table in Markdown."""
    lines = ["| killed | kills | promised | lost at most [s] | beyond the promise |", "|---|---|---|---|---|"]
    for kind in Kind:
        found = [one for one in done if one.kind is kind]
        if found:
            problems: dict[str, int] = {}
            for words in filter(None, (one.problem for one in found)):
                problems[words] = problems.get(words, 0) + 1
            lost = f"{max(one.lost_s for one in found):.2f}" if kind is Kind.RECORDER else "-"
            beyond = "; ".join(f"{count} {words}" for words, count in problems.items()) or "none"
            lines.append(f"| {kind} | {len(found)} | {kind.promise} | {lost} | {beyond} |")
    return "\n".join(lines)


def options_of(description: str | None, kinds: type[StrEnum], kills: int, counted: str) -> argparse.Namespace:
    """Return the parsed options of a benchmark that kills.

    Args:
        description: Of the benchmark.
        kinds: What can be killed.
        kills: How often unless it is given.
        counted: What that number is of.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=kills, help=counted)
    parser.add_argument("--kinds", nargs="+", type=kinds, default=list(kinds), metavar="KIND")
    parser.add_argument("--json", type=Path, help="results; an existing file is continued")
    parser.add_argument("--page", type=Path, help="page whose table is written anew")
    return parser.parse_args()
