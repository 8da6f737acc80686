"""Adds up the closing lines of runs side by side: `closing_line.py LOG` prints one like pytest's."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

ORDER = ("failed", "passed", "skipped", "deselected", "xfailed", "xpassed", "warnings", "errors")
CLOSING = re.compile(r"^=+ (\d+ .*) in ([\d.]+)s(?: \([\d:]+\))? =+$", re.MULTILINE)


def closing_line(log: str) -> str:
    """The counts of all closing lines of a log together, and the time of the longest run.

    Args:
        log: Output of any number of runs of pytest that began together.
    """
    counts: Counter[str] = Counter()
    seconds = 0.0
    for outcome, duration_s in CLOSING.findall(log):
        seconds = max(seconds, float(duration_s))
        for part in outcome.split(", "):
            number, word = part.split()[:2]
            counts[{"error": "errors", "warning": "warnings"}.get(word, word)] += int(number)
    line = ", ".join(f"{counts[word]} {word}" for word in ORDER if counts[word])
    return f"===== {line or 'no tests ran'} in {seconds:.2f}s ====="


if __name__ == "__main__":
    print(closing_line(Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace")))
