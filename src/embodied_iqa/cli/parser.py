"""Argument parser of the commands: errors in one line, with the nearest correct word."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from embodied_iqa.base.errors import UsageError, nearest
from embodied_iqa.base.lazy import load

FORMER: Final[Mapping[tuple[str, ...], Mapping[str, str]]] = {
    ("trial",): {"--run-dir": "--out"},
    ("experiment",): {"--tasks": "--first-tasks", "--subjects": "--vla"},
    ("distort",): {
        "--type": "--distortion",
        "--topic": "--only-topic",
        "--depth": "--depth-out",
    },
    ("distort", "calibrate"): {"--steps": "--curve-points"},
    ("distort", "train-denoiser"): {"--steps": "--training-steps"},
    ("metrics", "score"): {"--topic": "--only-topic"},
    ("recording", "export"): {"--lerobot": "--out"},
    ("serve",): {"--vla": "--role=vla"},
    ("studio",): {"--gate": "--live-gate"},
    ("gate", "calibrate"): {"--output": "--out", "--camera": "--device", "--sim": "--simulated"},
    ("gate", "fit"): {"--camera": "--view", "--policy": "--vla"},
    ("gate", "run"): {"--image": "--topic"},
    ("gate", "proxy"): {"--camera": "--view", "--state": "--state-key", "--shadow": "--mode=shadow"},
    ("cell", "init"): {"--camera": "--topic", "--gate-file": "--calibration"},
    ("miqa", "build"): {"--pictures": "--images", "--task": "--vision-task"},
    ("miqa", "import"): {"--task": "--vision-task"},
    ("miqa", "stability"): {"--task": "--vision-task"},
    ("miqa", "train"): {"--task": "--vision-task", "--model": "--recipe"},
    ("miqa", "score"): {"--model": "--trained"},
    ("evaluate", "miqa"): {"--task": "--vision-task"},
    ("evaluate", "panel"): {"--models": "--models-dir"},
    ("evaluate", "static"): {"--judge": "--answer-judge"},
    ("static", "make"): {"--vla": "--trajectories"},
    ("manipulate", "detect"): {"--every": "--stride"},
    ("manipulate", "fit"): {"--every": "--stride", "--distortions": "--distortions-each"},
    ("manipulate", "replay"): {"--every": "--stride"},
}
"""Former name of an option to its present one, by command; both work."""

_GONE_IN: Final = "0.2"
_YAML: Final = (".yaml", ".yml")


def yaml_file(text: str) -> Path:
    """Return the value of an option that names a YAML file to write: its name says so."""
    path = Path(text)
    if path.suffix.lower() not in _YAML:
        raise argparse.ArgumentTypeError(f"expected a name that ends in {' or '.join(_YAML)}; got {text!r}")
    return path


class Parser(argparse.ArgumentParser):
    """Parser that reports argument errors as one-line usage errors.

    Attributes:
        module: Of an action: what adds its arguments, imported when the action is chosen.
    """

    module: str | None = None

    @property
    def _place(self) -> str:
        """The command and its action with a colon, for errors, which begin with the name of the program."""
        place = self.prog.partition(" ")[2]
        return f"{place}: " if place else ""

    @property
    def needs_action(self) -> bool:
        """Whether a command line without further words lacks an action."""
        groups = (one for one in self._actions if isinstance(one, argparse._SubParsersAction))  # noqa: SLF001 - as below
        return any(group.required for group in groups)

    def complete(self) -> None:
        """Add the arguments of the action's module; call it before you look at the arguments."""
        module, self.module = self.module, None
        if module is not None:
            load(module).configure(self)

    def parse_known_args(  # type: ignore[override]
        self, args: Any = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse; called for an action when it is chosen."""
        self.complete()
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise the error."""
        raise UsageError(f"{self._place}{message} (see {self.prog} --help)")

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Parse; an unknown option is reported with the nearest option of the chosen action."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            word = unknown[0].partition("=")[0]
            close = nearest(word, _options(self, found)) if word.startswith("-") else None
            hint = f"did you mean {close}?" if close else f"see {self.prog} --help"
            raise UsageError(f"{self._place}unrecognized arguments: {' '.join(unknown)} ({hint})")
        return found

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            name = "/".join(action.option_strings) or action.metavar or action.dest
            message = f"{self._place}argument {name}: invalid choice"
            raise UsageError(message, got=value, available=action.choices)


def _options(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> Iterator[str]:
    """Yield the options of a parser and of the action that was chosen."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of its options
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            chosen = action.choices.get(getattr(parsed, action.dest, ""))
            yield from _options(chosen, parsed) if chosen else ()


def perform(target: str, arguments: argparse.Namespace) -> int:
    """Import the function of an action, ``package.module:function``, and call it; return the exit code."""
    exit_code: int = load(target)(arguments)
    return exit_code


def command_of(
    name: str, actions: Mapping[str, tuple[str, str]]
) -> tuple[Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]]:
    """Return `configure` and `run` of a command whose actions are modules, each imported when it is chosen.

    Args:
        name: Of the attribute with the chosen action.
        actions: Action to (module with `configure` and `run`, one-line help).
    """

    def configure(parser: argparse.ArgumentParser) -> None:
        parsers = parser.add_subparsers(dest=name, metavar=name.upper(), required=True, parser_class=Parser)
        for action, (module, summary) in actions.items():
            parsers.add_parser(action, help=summary).module = module

    def run(arguments: argparse.Namespace) -> int:
        return perform(f"{actions[getattr(arguments, name)][0]}:run", arguments)

    return configure, run


def with_present_names(arguments: Sequence[str]) -> list[str]:
    """Return a command line whose options have their present names; name each former one once."""
    tables = [table for place, table in FORMER.items() if tuple(arguments[: len(place)]) == place]
    names = {old: new for table in tables for old, new in table.items()}
    words, former = list(arguments), set[str]()
    for index, word in enumerate(words):
        if word == "--":
            break
        option, equals, value = word.partition("=")
        if option not in names:
            continue
        words[index] = f"{names[option]}{equals}{value}"
        if option not in former:
            former.add(option)
            note_former(option, names[option])
    return words


def note_former(old: str, present: str) -> None:
    """Say the present name of an option, or of its value, that was given by its former one."""
    print(f"embodied-iqa: {old} is called {present}; {_GONE_IN} no longer knows it", file=sys.stderr)
