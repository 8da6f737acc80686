"""What makes a test decide by the machine's speed: sleeps, elapsed time, short time-outs, bare processes.

`python tests/style/waiting_calls.py` prints what there is; with --shrink it takes what is gone out of
tests/lists/waiting.txt, and refuses to add to it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from style_sources import ROOT, Source, sources

sys.path.append(str(ROOT / "tests"))  # where this is run as a program

from suite_order import is_marked

LIST = ROOT / "tests" / "lists" / "waiting.txt"
SHORTEST_S = 5.0
"""A time-out of a test is at least this long: a busy machine pauses a process for a second or two."""

SHORTEST_COMPLETION_S = 30.0
"""The limit for the end of a process, and for every wait of a live test, is at least this long."""
_LIVE = ("tests/ros/", "tests/fault/")
_COMPLETIONS = {"completed": 2, "wait_until": 2, "wait_until_gone": 1, "communicate": 1}
"""Calls that wait for a process, and the place of their limit."""
_WAITS = {"wait", "join", "result", "exception", "wait_for", "acquire", "get"}
"""Calls that wait for anything else."""

OWNERS = {
    "tests/chromium_pipe.py": "ends Chromium, whatever the test does",
    "tests/live_process.py": "ends a program and all that it started, whatever the test does",
    "tests/recorder_process.py": "ends recorder_node, whatever the test does",
    "tests/studio_process.py": "ends the studio, whatever the test does",
    "tests/ur_emulator.py": "ends the emulator, whatever the test does",
}
"""Files that start processes and end them for others."""

_PLUGINS = "suite_"
"""Plugins of pytest: they measure runs and decide nothing by it."""
_CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "time", "time_ns"}
_WAIT = re.compile(r"(timeout|deadline|silence)(_s|_sec)?")
_POSITIONAL = {"wait": 0, "join": 0, "result": 0, "wait_for": 1} | _COMPLETIONS
"""Calls whose time-out may stand without its name, and its place."""
_OWN_TIMES = {"ManualClock", "SteppedTime"}
"""Annotations of arguments: a function that uses one works on time that the test owns."""
_POLLS = {"spin_once", "spin_until_future_complete", "select"}
"""Calls in loops: their time-out decides how often a condition is looked at, not whether a test passes."""


def _dotted(node: ast.expr) -> str:
    """The name that an expression spells; empty where it begins with anything else, such as a call."""
    words = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(words)]) if isinstance(node, ast.Name) else ""


def _is_clock(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    module, _, name = _dotted(node.func).rpartition(".")
    return name in _CLOCKS and (module == "time" or (not module and name not in {"time", "time_ns"}))


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """What a function holds, without the functions in it."""
    left = list(ast.iter_child_nodes(node))
    while left:
        child = left.pop()
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            left.extend(ast.iter_child_nodes(child))


def _has_own_time(block: ast.AST) -> bool:
    """Whether a function takes a clock of the test's and uses it."""
    if not isinstance(block, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    taken = {
        argument.arg
        for argument in (*block.args.posonlyargs, *block.args.args, *block.args.kwonlyargs)
        if argument.annotation is not None and _dotted(argument.annotation) in _OWN_TIMES
    }
    body = (node for statement in block.body for node in ast.walk(statement))
    return bool(taken) and any(isinstance(node, ast.Name) and node.id in taken for node in body)


def _deciding(tree: ast.Module) -> frozenset[str]:
    """Names of the functions of a file that assert or raise."""
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and any(isinstance(part, ast.Assert | ast.Raise) for part in ast.walk(node))
    )


def _paced(node: ast.AST, deciding: frozenset[str]) -> ast.expr | None:
    """The wait of a loop that repeats something until an event and decides nothing meanwhile."""
    if not (isinstance(node, ast.While) and isinstance(node.test, ast.UnaryOp)):
        return None
    kinds = ast.Assert | ast.Raise | ast.Break | ast.Return | ast.AugAssign | ast.If | ast.Try
    decides = any(
        isinstance(part, kinds) or (isinstance(part, ast.Call) and _last(part) in deciding)
        for part in _walk(node)
    )
    return node.test.operand if isinstance(node.test.op, ast.Not) and not decides else None


def _last(call: ast.Call) -> str:
    """The name of what is called, without its owner."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else _dotted(call.func)


class _Finder:
    """The findings of one file as pairs of a rule and a line."""

    def __init__(self, name: str, tree: ast.Module) -> None:
        self._name = name
        self._numbers = {
            target.id: value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and (value := self._constant(node.value)) is not None
        }
        self._deciding = _deciding(tree)
        blocks = [
            tree,
            *(
                function
                for function in ast.walk(tree)
                if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and not is_marked(function)
            ),
        ]
        self.found = [
            finding for block in blocks for finding in self._of(list(_walk(block)), _has_own_time(block))
        ]

    @staticmethod
    def _constant(node: ast.expr) -> float | None:
        value = node.value if isinstance(node, ast.Constant) else None
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def _seconds(self, node: ast.expr) -> float | None:
        """The value of a number or of a constant of the module."""
        return self._numbers.get(node.id) if isinstance(node, ast.Name) else self._constant(node)

    def _is_short(self, node: ast.expr, shortest_s: float = SHORTEST_S) -> bool:
        seconds = self._seconds(node)
        return seconds is not None and 0.0 < seconds < shortest_s

    def _shortest_s(self, name: str, last: str) -> float:
        """The shortest limit of a call: one that ends a product's deadline may be shorter."""
        is_process = last in _COMPLETIONS or name == "subprocess.run"
        is_live = self._name.startswith(_LIVE) and last in _WAITS
        return SHORTEST_COMPLETION_S if is_process or is_live else SHORTEST_S

    def _of(self, nodes: list[ast.AST], own_time: bool) -> Iterator[tuple[str, int]]:
        stamps = {
            target.id
            for node in nodes
            if isinstance(node, ast.Assign) and _is_clock(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        own_clock = own_time or any(word.arg == "clock" for call in calls for word in call.keywords)
        paces = {id(_paced(node, self._deciding)) for node in nodes}
        for call in (call for call in calls if id(call) not in paces):
            yield from ((rule, call.lineno) for rule in self._of_call(call, own_clock=own_clock))
        for node in nodes:
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                names = {side.id for side in (node.left, node.right) if isinstance(side, ast.Name)}
                if _is_clock(node.left) or (len(names) == 2 and names <= stamps):
                    yield "elapsed", node.lineno
            sums = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_clock(node.left)
            if sums and self._is_short(node.right):
                yield "timeout", node.lineno

    def _of_call(self, call: ast.Call, *, own_clock: bool) -> Iterator[str]:
        name = _dotted(call.func)
        last = _last(call)
        if name in {"time.sleep", "asyncio.sleep", "sleep"} and not (
            call.args and self._constant(call.args[0]) == 0
        ):
            yield "sleep"
        if name in {"subprocess.Popen", "Popen"} and self._name not in OWNERS:
            yield "popen"
        if last in _POLLS or own_clock:
            return
        given = [word.value for word in call.keywords if word.arg and _WAIT.fullmatch(word.arg)]
        place = _POSITIONAL.get(last)
        has_place = isinstance(call.func, ast.Attribute) or last in _COMPLETIONS
        if place is not None and len(call.args) > place and has_place:
            given.append(call.args[place])
        if any(self._is_short(value, self._shortest_s(name, last)) for value in given):
            yield "timeout"


def findings(source: Source) -> list[tuple[str, int]]:
    """Rule and line of each finding of a file: `sleep`, `elapsed`, `timeout` or `popen`.

    Deadlines of tests/cell are numbers on an event queue, so that only sleeps and processes count there.
    """
    found = _Finder(source.name, source.tree).found
    if source.name.startswith("tests/cell/"):
        found = [(rule, line) for rule, line in found if rule in {"sleep", "popen"}]
    return sorted(found, key=lambda finding: (finding[1], finding[0]))


@cache
def counted() -> Counter[tuple[str, str]]:
    """How many findings of each rule each file of tests has."""
    tests = (source for source in sources("tests") if not source.path.name.startswith(_PLUGINS))
    return Counter((rule, source.name) for source in tests for rule, _ in findings(source))


def listed(file: Path = LIST) -> Counter[tuple[str, str]]:
    """The list of what is left to mend: lines `count rule file`."""
    lines = file.read_text(encoding="utf-8").splitlines()
    rows = (line.split() for line in lines if line.strip() and not line.startswith("#"))
    return Counter({(rule, name): int(count) for count, rule, name in rows})


def main(words: list[str]) -> int:
    """Print the findings, or shrink the list to them; 1 where there are more than the list has."""
    now, before = counted(), listed()
    grown = now - before
    if "--shrink" in words and not grown:
        head = "# What is left of tests that wait for the machine: count, rule, file. It only shrinks:\n"
        head += "# python tests/style/waiting_calls.py --shrink takes out what is gone.\n"
        rows = (f"{count} {rule} {name}\n" for (rule, name), count in sorted(now.items()))
        LIST.write_text(head + "".join(rows), encoding="utf-8")
    shown = grown if "--shrink" in words else now
    for (rule, name), count in sorted(shown.items()):
        sys.stdout.write(f"{count} {rule} {name}\n")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
