"""Argument parser of the commands: errors in one line, with the nearest correct word."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from embodied_iqa.base.errors import UsageError, nearest
from embodied_iqa.base.lazy import load


class Parser(argparse.ArgumentParser):
    """Parser that reports argument errors as one-line usage errors."""

    def error(self, message: str) -> NoReturn:
        """Raise the error."""
        raise UsageError(f"{self.prog}: {message} (see {self.prog} --help)")

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Parse; an unknown option is reported with the nearest option of the chosen action."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            word = unknown[0].partition("=")[0]
            close = nearest(word, _options(self, found)) if word.startswith("-") else None
            hint = f"did you mean {close}?" if close else f"see {self.prog} --help"
            raise UsageError(f"{self.prog}: unrecognized arguments: {' '.join(unknown)} ({hint})")
        return found

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            name = "/".join(action.option_strings) or action.metavar or action.dest
            message = f"{self.prog}: argument {name}: invalid choice"
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


def configure_each(
    parser: argparse.ArgumentParser, name: str, actions: Mapping[str, tuple[str, str]]
) -> None:
    """Add the actions of a command, each with the arguments of its module.

    Args:
        parser: Of the command.
        name: Of the attribute with the chosen action.
        actions: Action to (module with `configure` and `run`, one-line help).
    """
    parsers = parser.add_subparsers(dest=name, metavar=name.upper(), required=True)
    for action, (module, summary) in actions.items():
        load(module).configure(parsers.add_parser(action, help=summary))
