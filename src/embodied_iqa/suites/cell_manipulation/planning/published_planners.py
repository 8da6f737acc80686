"""Published results of EB-Manipulation, another simulator's.

Source: EmbodiedBench, arXiv 2502.09560 v3, Table 3: success in percent of 228 episodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from embodied_iqa.suites.cell_manipulation.episodes import Subset

EPISODES: Final = {
    Subset.BASE: 48,
    Subset.COMMON_SENSE: 48,
    Subset.COMPLEX: 48,
    Subset.VISUAL: 36,
    Subset.SPATIAL: 48,
}
"""Episodes of each subset, in the order of the table."""
_TABLE: Final = """
GPT-4o,28.9,39.6,29.2,29.2,19.4,25.0
GPT-4o-mini,4.8,4.2,6.3,2.1,0.0,10.4
Claude-3.7-Sonnet,28.5,31.3,20.8,43.8,25.0,20.8
Claude-3.5-Sonnet,25.4,37.5,16.7,29.2,19.4,22.9
Gemini-1.5-Pro,21.1,14.6,14.6,22.9,16.7,35.4
Qwen-VL-Max,18.0,25.0,10.4,18.8,2.8,29.2
GPT-4o (text only),16.2,16.7,16.7,14.6,19.4,14.6
InternVL3-78B,26.3,29.2,22.9,22.9,25.0,31.3
InternVL3-38B,22.6,20.8,14.6,20.8,19.4,37.5
InternVL2.5-78B,18.0,16.7,16.7,14.6,22.2,20.8
Ovis2-34B,26.8,31.3,25.0,18.8,27.8,31.3
Qwen2.5-VL-72B,16.2,12.5,12.5,16.7,22.2,18.8
Qwen2.5-VL-7B,9.6,8.3,8.3,8.3,5.6,16.7
Llama-3.2-90B-Vision,14.9,10.4,12.5,16.7,10.4,20.8
"""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A row of the table.

    Attributes:
        model: As printed.
        average: Printed average, in percent.
        subsets: Printed success of each subset, in percent.
    """

    model: str
    average: float
    subsets: dict[Subset, float]


def published_rows() -> tuple[PublishedRow, ...]:
    """Return the rows of the table."""
    rows = []
    for line in _TABLE.strip().splitlines():
        model, average, *values = line.split(",")
        shares = dict(zip(EPISODES, map(float, values), strict=True))
        rows.append(PublishedRow(model, float(average), shares))
    return tuple(rows)
