"""Former names of options: they work, and one line on standard error names the present one."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Final

FORMER: Final[Mapping[tuple[str, ...], Mapping[str, str]]] = {
    ("trial",): {"--run-dir": "--out"},
    ("distort",): {"--type": "--distortion"},
    ("gate", "calibrate"): {"--output": "--out", "--camera": "--device"},
    ("gate", "fit"): {"--camera": "--view", "--policy": "--vla"},
    ("gate", "proxy"): {"--camera": "--view"},
    ("cell", "init"): {"--camera": "--topic", "--gate-file": "--calibration"},
    ("miqa", "build"): {"--pictures": "--images"},
}
"""Former name to present name, by command."""

_GONE_IN: Final = "0.2"


def with_present_names(arguments: Sequence[str]) -> list[str]:
    """Return a command line whose options have their present names; name each former one once."""
    names = next((table for place, table in FORMER.items() if tuple(arguments[: len(place)]) == place), {})
    words = list(arguments)
    for index, word in enumerate(words):
        if word == "--":
            break
        option, equals, value = word.partition("=")
        if option in names:
            words[index] = f"{names[option]}{equals}{value}"
    for option in dict.fromkeys(word.partition("=")[0] for word in arguments):
        if option in names:
            note = f"embodied-iqa: {option} is called {names[option]}; {_GONE_IN} no longer knows it"
            print(note, file=sys.stderr)
    return words
