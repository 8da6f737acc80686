"""What a test reaches: imports at the top and in functions, keys of tables, what texts and data name."""

from __future__ import annotations

from pathlib import Path

import pytest

from reach.graph import Graph, read_graph

ROOT = Path(__file__).resolve().parents[3]
FILES = {
    "src/embodied_iqa/__init__.py": (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from embodied_iqa.api import measure\n"
        'if not TYPE_CHECKING:\n    def __getattr__(name):\n        return load("embodied_iqa.api")\n'
    ),
    "src/embodied_iqa/api.py": "import embodied_iqa.gate.judge\n",
    "src/embodied_iqa/gate/__init__.py": "",
    "src/embodied_iqa/gate/judge.py": (
        "def judge():\n    from embodied_iqa.units import NS\n"
        "if TYPE_CHECKING:\n    from embodied_iqa.robot import Arm\n"
    ),
    "src/embodied_iqa/units.py": "",
    "src/embodied_iqa/robot.py": "",
    "src/embodied_iqa/main.py": (
        'COMMANDS = {"gate": ("embodied_iqa.gate.judge", "help"), "move": ("embodied_iqa.robot", "help")}\n'
    ),
    "src/embodied_iqa/starter.py": 'def start(name):\n    run(f"embodied_iqa.nodes.{name}")\n',
    "src/embodied_iqa/nodes/__init__.py": "",
    "src/embodied_iqa/nodes/arm_node.py": "from ..robot import Arm\n",
    "resource/executables/arm_node": "",
    "src/embodied_iqa/loader.py": (
        '_BACKENDS = "embodied_iqa.backends"\n'
        'TABLE = {Kind.REMOTE: f"{_BACKENDS}.remote:make", Kind.OWN: _BACKENDS + ".own:make"}\n'
    ),
    "src/embodied_iqa/backends/__init__.py": "",
    "src/embodied_iqa/backends/remote.py": 'WORKER = Path(__file__).with_name("worker.py")\n',
    "src/embodied_iqa/backends/worker.py": "",
    "src/embodied_iqa/backends/own.py": "",
    "src/embodied_iqa/wing/actions/__init__.py": (
        'ACTIONS = {"list": ("listing:run", {"all"}), "sum": f"{__name__}.adding", OTHER: "other:run"}\n'
        'def run(action):\n    perform(f"{__name__}.{ACTIONS[action]}")\n'
    ),
    "src/embodied_iqa/wing/actions/listing.py": "",
    "src/embodied_iqa/wing/actions/adding.py": "",
    "src/embodied_iqa/wing/actions/other.py": "",
    "src/embodied_iqa/catalogue/__init__.py": "",
    "src/embodied_iqa/catalogue/entries.yaml": "- name: a\n  factory: embodied_iqa.backends.own:make\n",
    "tests/helper.py": "from embodied_iqa.main import COMMANDS\n",
    "tests/unit/test_units.py": "from embodied_iqa.units import NS\n",
    "tests/unit/test_judge.py": "import embodied_iqa.gate.judge\n",
    "tests/unit/test_command.py": 'from helper import COMMANDS\nrun(["gate", "fit"])\n',
    "tests/unit/test_public.py": "import embodied_iqa\nembodied_iqa.measure()\n",
    "tests/unit/test_version.py": '"""A measure of the gate."""\nimport embodied_iqa\n',
    "tests/unit/test_loader.py": "from embodied_iqa import loader\n",
    "tests/unit/test_listing.py": 'import embodied_iqa.wing.actions\nrun(["list"])\n',
    "tests/unit/test_catalogue.py": "import embodied_iqa.catalogue\n",
    "benchmarks/bench_arm.py": "import embodied_iqa.robot\n",
    "tests/fault/test_bench.py": 'run("benchmarks/bench_arm.py")\n',
    "tests/fault/test_code.py": 'run("-c", "from embodied_iqa.gate import judge")\n',
    "tests/fault/test_name.py": 'start("arm_node")\n',
    "tests/ros/test_nodes.py": "from embodied_iqa.starter import start\n",
}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return read_graph(tmp_path)


def _reached(graph: Graph, test: str) -> set[str]:
    return {name.removeprefix("src/embodied_iqa/") for name in graph.distances_of(test)} - {
        test,
        "__init__.py",
    }


@pytest.mark.parametrize(
    ("test", "reached"),
    [
        ("tests/unit/test_units.py", {"units.py"}),
        ("tests/unit/test_judge.py", {"gate/__init__.py", "gate/judge.py", "units.py"}),
        (
            "tests/unit/test_command.py",
            {"tests/helper.py", "main.py", "gate/__init__.py", "gate/judge.py", "units.py"},
        ),
        ("tests/unit/test_public.py", {"api.py", "gate/__init__.py", "gate/judge.py", "units.py"}),
        ("tests/unit/test_version.py", set()),
        ("tests/fault/test_bench.py", {"benchmarks/bench_arm.py", "robot.py"}),
        ("tests/fault/test_code.py", {"gate/__init__.py", "gate/judge.py", "units.py"}),
        ("tests/fault/test_name.py", {"nodes/__init__.py", "nodes/arm_node.py", "robot.py"}),
        (
            "tests/unit/test_loader.py",
            {"loader.py", *(f"backends/{name}.py" for name in ("__init__", "remote", "worker", "own"))},
        ),
        (
            "tests/unit/test_listing.py",
            {f"wing/actions/{name}.py" for name in ("__init__", "listing", "other")},
        ),
        (
            "tests/unit/test_catalogue.py",
            {"catalogue/__init__.py", "backends/__init__.py", "backends/own.py"},
        ),
        ("tests/ros/test_nodes.py", {"starter.py", "nodes/__init__.py", "nodes/arm_node.py", "robot.py"}),
    ],
)
def test_what_a_test_reaches(graph: Graph, test: str, reached: set[str]) -> None:
    assert _reached(graph, test) == reached


def test_distances_count_imports_and_words_of_tables(graph: Graph) -> None:
    distances = graph.distances_of("tests/unit/test_command.py")
    steps = ("tests/helper.py", "src/embodied_iqa/main.py", "src/embodied_iqa/gate/judge.py")
    assert [distances[name] for name in steps] == [1, 2, 3]


def test_tests_are_the_files_of_tests(graph: Graph) -> None:
    assert graph.tests == sorted(name for name in FILES if "/test_" in name)
    assert graph.knows("tests/helper.py")
    assert not graph.knows("docs/gate.md")


@pytest.mark.parametrize(
    ("test", "file"),
    [
        ("tests/fault/test_fault_endurance.py", "src/embodied_iqa/live/nodes/gate_node.py"),
        ("tests/ros/test_ros_broken_code.py", "src/embodied_iqa/live/nodes/playback_node.py"),
        ("tests/ros/test_ros_trial.py", "src/embodied_iqa/live/nodes/trial_node.py"),
        ("tests/fault/test_ur_faults.py", "src/embodied_iqa/arm/emulator/controller.py"),
        ("tests/unit/cli/test_cli_exit_codes.py", "src/embodied_iqa/cli/doctor.py"),
        ("tests/unit/test_examples.py", "src/embodied_iqa/api/gate.py"),
        (
            "tests/unit/models/subjects/test_wire_faults.py",
            "src/embodied_iqa/models/subjects/backends/openpi.py",
        ),
    ],
)
def test_what_tests_of_this_checkout_reach(checkout: Graph, test: str, file: str) -> None:
    assert file in checkout.distances_of(test)


@pytest.fixture(scope="module")
def checkout() -> Graph:
    return read_graph(ROOT)


def test_every_source_of_this_checkout_has_a_test_that_may_import_it(checkout: Graph) -> None:
    reached = set().union(*map(checkout.distances_of, checkout.tests))
    sources = {file.relative_to(ROOT).as_posix() for file in (ROOT / "src").rglob("*.py")}
    assert not sorted(sources - reached)


def test_a_file_that_cannot_be_parsed_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "broken.py").write_text("x = 1\ndef (\n")
    with pytest.raises(SyntaxError) as error:
        read_graph(tmp_path)
    assert error.value.lineno == 2
