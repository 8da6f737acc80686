"""Made-up scores of the shape that a database has."""

from __future__ import annotations

import numpy as np

from embodied_iqa.data.analysis.grid import PARTS, Group, GroupScores, PairTable, ScoreGrid

DISTORTIONS = tuple(f"{number:02d}" for number in range(1, 31))


def pair_table(references: int = 12, seed: int = 0) -> PairTable:
    """Every reference with all 30 distortions at one random level."""
    rng = np.random.default_rng(seed)
    level_of = rng.integers(1, 6, references)
    ids = np.array([f"r{r:03d}" for r in range(references) for _ in DISTORTIONS])
    distortions = np.array(list(DISTORTIONS) * references)
    number = np.repeat(np.arange(references), len(DISTORTIONS))
    levels = level_of[number]
    return PairTable(
        np.array([f"{a}-{b}-{c}" for a, b, c in zip(ids, distortions, levels, strict=True)]),
        ids,
        distortions,
        levels.astype(np.int64),
        {
            "person": np.where(number % 3 == 0, "first", "third"),
            "origin": np.where(number % 2 == 0, "real", "simulation"),
        },
    )


def group_scores(group: Group, pairs: PairTable, subjects: int = 4, seed: int = 1) -> GroupScores:
    """Scores that fall with the level, with noise of each subject's own and some ties at the top."""
    rng = np.random.default_rng(seed)
    truth = 5.5 - 0.7 * pairs.levels - 0.02 * pairs.distortion_ids.astype(int)
    parts = {
        part: np.clip(truth[:, None] + rng.normal(0, 0.8, (len(pairs), subjects)), 0, 5)
        for part in PARTS[group]
    }
    total = np.mean(list(parts.values()), axis=0)
    names = tuple(f"{group}-{number}" for number in range(subjects))
    elsewhere = np.zeros(total.shape, np.bool_)
    return GroupScores(group, names, parts, total, np.zeros(subjects, np.int64), elsewhere)


def grid(references: int = 12) -> ScoreGrid:
    """Both kinds of subjects."""
    pairs = pair_table(references)
    return ScoreGrid(pairs, {group: group_scores(group, pairs, seed=i) for i, group in enumerate(Group)})
