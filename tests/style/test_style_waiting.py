"""Tests decide by events and a clock of their own: no sleep, elapsed time, short time-out or bare process."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from style_sources import ROOT, Source, sources, statements_of
from waiting_calls import OWNERS, counted, findings, listed

from suite_order import is_marked

MOST_MARKED = 15
HEAD = "import subprocess, time, asyncio\nSHORT_S = 0.4\nLONG_S = 60.0\n"


def _found(tmp_path: Path, code: str, name: str = "tests/unit/test_new.py") -> list[str]:
    class Written(Source):
        @property
        def tree(self) -> ast.Module:
            return ast.parse(HEAD + code)

        @property
        def name(self) -> str:
            return name

    return [rule for rule, _ in findings(Written(tmp_path / "test_new.py", code))]


@pytest.mark.parametrize("room", ["ros", "fault"])
@pytest.mark.parametrize(
    ("code", "rules"),
    [
        ("def test(event):\n    assert event.wait(20)", ["timeout"]),
        ("def test(future):\n    future.result(timeout=20)", ["timeout"]),
        ("def test(future):\n    future.result(LONG_S)", []),
        ("def test(queue):\n    queue.ask(deadline_s=20)", []),
        ("def test(time: ManualClock, arm):\n    arm.wait(0.01)\n    time.advance(1)", []),
    ],
)
def test_a_live_test_waits_for_long(tmp_path: Path, room: str, code: str, rules: list[str]) -> None:
    assert _found(tmp_path, code, f"tests/{room}/test_new.py") == rules


@pytest.mark.parametrize(
    ("code", "rules"),
    [
        ("def test():\n    time.sleep(0.1)", ["sleep"]),
        ("async def test():\n    await asyncio.sleep(0)", []),
        ("def test():\n    begun = time.monotonic()\n    assert time.monotonic() - begun < 2", ["elapsed"]),
        (
            "def test():\n    a = time.monotonic()\n    b = time.monotonic()\n    assert b - a < 2",
            ["elapsed"],
        ),
        ("def test():\n    until = time.monotonic() + 60.0\n    left = until - time.monotonic()", []),
        ("def test():\n    until = time.monotonic() + 3.0", ["timeout"]),
        ("def test():\n    until = time.monotonic() + SHORT_S", ["timeout"]),
        ("def test(event):\n    assert event.wait(1.0)", ["timeout"]),
        ("def test(event):\n    assert event.wait(timeout=LONG_S)", []),
        ("def test(queue):\n    queue.ask(deadline_s=SHORT_S)", ["timeout"]),
        ("def test(queue):\n    make(clock=fake)\n    queue.ask(deadline_s=SHORT_S)", []),
        ("def test(time: ManualClock, queue):\n    time.advance(1)\n    queue.ask(deadline_s=SHORT_S)", []),
        ("def test(time: ManualClock, queue):\n    queue.ask(deadline_s=SHORT_S)", ["timeout"]),
        ("def serve(link, stop):\n    while not stop.wait(0.01):\n        link.sendall(b'x')", []),
        ("def test(stop):\n    while not stop.wait(0.01):\n        assert looks()", ["timeout"]),
        ("def test(stop):\n    while not stop.wait(0.01):\n        looks += 1", ["timeout"]),
        (
            "def look():\n    assert here()\ndef test(stop):\n    while not stop.wait(0.01):\n        look()",
            ["timeout"],
        ),
        ("def test(path):\n    completed(['true'], path, 20.0)", ["timeout"]),
        ("def test(path):\n    completed(['true'], path, LONG_S)", []),
        ("def test():\n    subprocess.run(['true'], timeout=25)", ["timeout"]),
        ("def test(program):\n    program.wait_until(lambda: True, 'it', deadline_s=20)", ["timeout"]),
        ("def test(event):\n    assert event.wait(20)", []),
        ("@pytest.mark.wall_clock_free\ndef test():\n    time.sleep(0.1)", ["sleep"]),
        ("@pytest.mark.wall_clock\ndef test():\n    time.sleep(0.1)", []),
        ("@pytest.mark.stress\ndef test():\n    time.sleep(0.1)", ["sleep"]),
        ("def test(executor):\n    executor.spin_once(timeout_sec=0.05)", []),
        ("def test():\n    with subprocess.Popen(['true']) as child:\n        child.wait(60)", ["popen"]),
        ("def test(queue):\n    queue.get(timeout=0.0)", []),
    ],
)
def test_what_is_found(tmp_path: Path, code: str, rules: list[str]) -> None:
    assert _found(tmp_path, code) == rules


def test_deadlines_of_the_virtual_cell_are_numbers(tmp_path: Path) -> None:
    code = "def test(cell):\n    cell.ask(deadline_s=0.1)\n    time.sleep(1)"
    assert _found(tmp_path, code, "tests/cell/test_new.py") == ["sleep"]


def test_few_tests_decide_by_real_time() -> None:
    marked = [
        f"{source.name}: {node.name}"
        for source in sources("tests")
        for node in statements_of(source.path)
        if is_marked(node)
    ]
    assert len(marked) <= MOST_MARKED, marked


def test_owners_of_processes_exist() -> None:
    assert [name for name in OWNERS if not (ROOT / name).is_file()] == []


def test_no_test_waits_for_the_machine() -> None:
    new = counted() - listed()
    lines = [f"{count} more `{rule}` in {name}" for (rule, name), count in sorted(new.items())]
    assert not new, "\n".join([*lines, "tests/README.md says what to write instead"])


def test_the_list_of_what_is_left_is_no_longer_than_reality() -> None:
    gone = listed() - counted()
    lines = [f"{count} fewer `{rule}` in {name}" for (rule, name), count in sorted(gone.items())]
    assert not gone, "\n".join([*lines, "python tests/style/waiting_calls.py --shrink"])
