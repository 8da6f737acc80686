"""`embodied-iqa manipulate make`: the episodes of cell-manipulation."""

from __future__ import annotations

import argparse
import json
from collections import Counter

from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.output import next_command
from embodied_iqa.suites.cell_manipulation.episodes import Subset
from embodied_iqa.suites.cell_manipulation.making import PROTOCOL, make_episodes, write_episodes


def make(arguments: argparse.Namespace) -> int:
    """Make the episodes and write them; return the exit code."""
    episodes = list(make_episodes(_subsets(arguments.subset), arguments.seed))
    path = write_episodes(arguments.out, episodes)
    counts = Counter(str(episode.subset) for episode in episodes)
    if arguments.json:
        print(json.dumps({"file": str(path), "episodes": len(episodes), "subsets": dict(counts)}, indent=2))
    else:
        by_subset = ", ".join(f"{subset} {count}" for subset, count in counts.items())
        print(f"{len(episodes)} episodes ({by_subset}) in {path}")
        next_command("manipulate", "ceiling", arguments.out)
    return 0


def _subsets(words: str) -> tuple[Subset, ...]:
    """Return the subsets in the order of the protocol, each once.

    Raises:
        UsageError: One is unknown.
    """
    if words == "all":
        return PROTOCOL
    wanted = [word.strip() for word in words.split(",")]
    for word in wanted:
        if word not in set(Subset):
            raise UsageError("unknown subset", got=word, available=["all", *Subset])
    return tuple(subset for subset in Subset if subset in wanted)
