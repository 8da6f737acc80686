"""`embodied-iqa manipulate make`: the episodes of cell-manipulation."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from embodied_iqa.cli.output import next_command, print_json
from embodied_iqa.cli.plan_options import seed_number, words_of
from embodied_iqa.suites.cell_manipulation.episodes import Subset
from embodied_iqa.suites.cell_manipulation.making import PROTOCOL, make_episodes, write_episodes


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    subsets = f"by commas: {', '.join(Subset)}; all: the protocol's five, 228 episodes (default)"
    add("--subset", type=_subsets, default="all", metavar="NAMES", help=subsets)
    add("--seed", type=seed_number, default=1, metavar="N", help="seed of all episodes (default 1)")
    add("--out", type=Path, required=True, metavar="DIR", help="folder of the episodes")
    add("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Make the episodes and write them; return the exit code."""
    episodes = list(make_episodes(arguments.subset, arguments.seed))
    path = write_episodes(arguments.out, episodes)
    counts = Counter(str(episode.subset) for episode in episodes)
    if arguments.json:
        print_json({"file": str(path), "episodes": len(episodes), "subsets": dict(counts)})
    else:
        by_subset = ", ".join(f"{subset} {count}" for subset, count in counts.items())
        print(f"{len(episodes)} episodes ({by_subset}) in {path}")
        next_command("manipulate", "ceiling", arguments.out)
    return 0


def _subsets(words: str) -> tuple[Subset, ...]:
    """Return the subsets in the order of the protocol, each once."""
    wanted = PROTOCOL if words == "all" else words_of(Subset, may_be_empty=False)(words)
    return tuple(subset for subset in Subset if subset in wanted)
