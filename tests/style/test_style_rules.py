"""Rules of CONTRIBUTING.md that no linter knows: reasons of `noqa`, nothing written twice, ROS requests."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from style_sources import PACKAGE, Source, sources, statements_of

_BLOCK = 6
"""Equal lines in a row that count as written twice."""


def test_every_noqa_names_its_rule_and_its_reason() -> None:
    form = re.compile(r"# noqa: [A-Z]+\d+(, [A-Z]+\d+)* - \S")
    wrong = [
        f"{source.name}:{number}: {line.strip()}"
        for source in sources("src", "scripts", "launch")
        for number, line in enumerate(source.text.splitlines(), start=1)
        if "# noqa" in line and not form.search(line)
    ]
    assert not wrong, "\n".join(wrong)


REQUESTS = {
    "send_goal", "send_goal_async", "get_result", "get_result_async", "cancel_goal", "cancel_goal_async",
    "call_async",
}  # fmt: skip
"""Calls of rclpy's clients; those of an action client lose their response in a thread that does not spin."""

MAKE_REQUESTS = {
    "src/embodied_iqa/live/ros/action_gripper.py": "makes them in callbacks of the only thread that spins",
    "src/embodied_iqa/live/ros/actions.py": "makes them in the thread that spins",
    "src/embodied_iqa/live/ros/calls.py": "service calls, which rclpy registers under a lock",
    "tests/ros/test_ros_actions.py": "shows how rclpy loses a response",
}


def test_requests_go_through_the_helpers_of_ros() -> None:
    used: dict[str, str] = {}
    for source in sources("src", "tests", "benchmarks", "examples", "scripts"):
        spelled = any(f".{name}" in source.text for name in REQUESTS)
        for node in ast.walk(source.tree) if spelled else ():
            if isinstance(node, ast.Attribute) and node.attr in REQUESTS:
                used[source.name] = f"{source.name}:{node.lineno}: .{node.attr}"
    wrong = [place for name, place in used.items() if name not in MAKE_REQUESTS]
    assert not wrong, f"use ActionCaller, call or begin_call: {wrong}"
    assert set(MAKE_REQUESTS) <= set(used)


def test_only_the_renderer_makes_a_graphics_context() -> None:
    """The garbage collector closes what is made elsewhere, in any thread, where that fails."""
    folder = "src/embodied_iqa/world/simulation"
    makers = {f"{folder}/renderer.py", f"{folder}/engine.py", "src/embodied_iqa/cli/checks/machine.py"}
    form = re.compile(r"\bRenderer\(|mujoco\.Renderer|GLContext|MjrContext|def __del__")
    found = {source.name for source in sources("src") if form.search(source.text)}
    assert found == makers


def _room_of(source: Source) -> str:
    """Return wing and room of a file; all commands are one room."""
    parts = source.path.relative_to(PACKAGE).parts
    return "/".join(parts[: 1 if parts[0] == "cli" else 2])


def _code(source: Source) -> list[tuple[int, str]]:
    """Return number and text of the lines that are neither blank, comment, import nor docstring."""
    left_out: set[int] = set()
    for node in statements_of(source.path):
        if isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            left_out |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    lines = source.text.splitlines()
    return [
        (number, line.strip())
        for number, line in enumerate(lines, start=1)
        if number not in left_out and line.strip() and not line.strip().startswith("#")
    ]


def test_no_block_stands_in_two_rooms() -> None:
    places: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for source in sources("src"):
        room = _room_of(source)
        lines = _code(source)
        for start in range(len(lines) - _BLOCK + 1):
            block = tuple(text for _, text in lines[start : start + _BLOCK])
            if sum(len(text) > 2 for text in block) >= _BLOCK - 1:
                places[block].setdefault(room, f"{source.name}:{lines[start][0]}")
    twice = sorted({" = ".join(found.values()) for found in places.values() if len(found) > 1})
    assert not twice, "\n".join(twice)
