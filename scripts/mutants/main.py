"""Changes one place of the source at a time and counts the changes that the tests notice.

Results are kept: an interrupted run goes on where it was, and a later one tries only the mutants of changed
files and those that survived tests that have changed since.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from mutants.baseline import record_baseline
from mutants.children import preload
from mutants.judged import read_judged
from mutants.operators import Mutant
from mutants.results import Result, RoomResults, table
from mutants.rooms import INTERPRETED, ROOMS, SAFETY, mutants_in, tests_of
from mutants.tree import locked_tree

ROOT = Path(__file__).resolve().parents[2]


def main(words: Sequence[str] | None = None) -> int:
    """Run the command."""
    arguments = _arguments(words)
    judged = read_judged(ROOT / "tests/mutants/equivalent.toml")
    rows: dict[str, list[Result]] = {}
    with locked_tree(ROOT, arguments.store.resolve()) as tree:
        preload()
        for room in arguments.rooms or ROOMS:
            record = tree.parent / f"{room}-baseline.json"
            baseline = record_baseline(tree, tests_of(tree, room), record, interpreted=room in INTERPRETED)
            for failing in baseline.failing:
                print(f"left out, it fails without a mutant: {failing}")
            chosen = _sample(mutants_in(tree, room, arguments.file), arguments.sample, arguments.seed)
            rows[room] = RoomResults(room, tree, tree.parent).run(chosen, judged, baseline)
    safety = [result for result in rows.get("robot", []) if Path(result.file).stem in SAFETY]
    if safety:
        rows["robot: " + " ".join(SAFETY)] = safety
    print(table(rows))
    for result in (result for room, results in rows.items() if room in ROOMS for result in results):
        if result.outcome == "survived":
            print(result)
    if arguments.json is not None:
        record_of = {room: [asdict(result) for result in results] for room, results in rows.items()}
        arguments.json.write_text(json.dumps(record_of, indent=1))
    return 0


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"rooms (default all): {' '.join(ROOMS)}")
    parser.add_argument("--sample", type=int, default=150, help="mutants of each room, 0: all (default 150)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default 1)")
    parser.add_argument("--file", action="append", default=[], help="only files of this name, without .py")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--store", type=Path, default=ROOT / ".build/mutants", help="where results are kept")
    arguments = parser.parse_args(words)
    unknown = [room for room in arguments.rooms if room not in ROOMS]
    if unknown:
        parser.error(f"unknown room {unknown[0]!r}: expected one of {' '.join(ROOMS)}")
    return arguments


def _sample(mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
    if not 0 < count < len(mutants):
        return mutants
    chosen = random.Random(seed).sample(mutants, count)
    return sorted(chosen, key=lambda mutant: (mutant.file, mutant.start))
