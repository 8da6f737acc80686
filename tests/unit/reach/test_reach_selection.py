"""Which tests a change selects: what imports it, what has run it, what a rule names, else everything."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from reach.main import default_base, main
from reach.rules import RULES, rule_of
from reach.selection import Selection, changed_files, durations, select

ROOT = Path(__file__).resolve().parents[3]
FILES = {
    "src/embodied_iqa/__init__.py": "",
    "src/embodied_iqa/units.py": "",
    "src/embodied_iqa/kernels.py": "",
    "src/embodied_iqa/reports/__init__.py": "",
    "src/embodied_iqa/reports/page.py": "import embodied_iqa.units\n",
    "src/embodied_iqa/reports/page.html.j2": "",
    "config/trial.yaml": "",
    "docs/gate.md": "",
    "tests/conftest.py": 'pytest_plugins = ["open_things"]\n',
    "tests/open_things.py": "",
    "tests/unit/gate/data.json": "{}",
    "tests/unit/gate/test_gate.py": "import embodied_iqa.units\n",
    "tests/unit/reports/test_page.py": "import embodied_iqa.reports.page\n",
    "tests/unit/test_examples.py": 'GUIDES = "docs"\n',
    "tests/style/test_style.py": "",
}
TESTS = {name for name in FILES if "/test_" in name}
STYLE = "tests/style/test_style.py"
GATE, PAGE = "tests/unit/gate/test_gate.py", "tests/unit/reports/test_page.py"


def _git(root: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", "-A")
    _git(tmp_path, "commit", "-q", "-m", "all")
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("src/embodied_iqa/units.py", {GATE, PAGE}),
        ("src/embodied_iqa/reports/page.py", {PAGE}),
        ("src/embodied_iqa/reports/page.html.j2", {PAGE}),
        ("src/embodied_iqa/kernels.py", TESTS),
        ("tests/open_things.py", TESTS),
        ("tests/unit/gate/test_gate.py", {GATE}),
        ("tests/unit/gate/data.json", {GATE}),
        ("docs/gate.md", {"tests/unit/test_examples.py"}),
        ("tests/conftest.py", TESTS),
        ("config/trial.yaml", TESTS),
    ],
)
def test_a_change_selects(root: Path, changed: str, tests: set[str]) -> None:
    assert select(root, [changed], []).tests == tests | {STYLE}


def test_what_was_recorded_is_added_to_the_imports(root: Path) -> None:
    record = {f"{GATE}::test_a": {"lines": {"src/embodied_iqa/kernels.py": {"1": [""]}}}}
    (root / ".build" / "mutants").mkdir(parents=True)
    (root / ".build" / "mutants" / "gate-baseline.json").write_text(json.dumps(record))
    assert select(root, ["src/embodied_iqa/kernels.py"], []).tests == {GATE, STYLE}


def test_data_belong_to_the_next_folder_with_modules(root: Path) -> None:
    (root / "src/embodied_iqa/reports/pages").mkdir()
    assert select(root, ["src/embodied_iqa/reports/pages/run.html.j2"], []).tests == {PAGE, STYLE}
    assert select(root, ["src/embodied_iqa/py.typed"], []).whole


def test_a_module_that_is_gone_selects_everything_and_a_test_nothing(root: Path) -> None:
    assert select(root, [], ["src/embodied_iqa/old.py"]).whole
    assert select(root, [], ["tests/unit/gate/test_old.py"]).tests == {STYLE}


def test_a_reason_is_given_for_each_file(root: Path) -> None:
    reasons = select(root, ["config/trial.yaml"], []).reasons
    assert reasons[-1] == "config/trial.yaml: 4 test files: no rule says what reads it: everything"


def test_changes_are_commits_edits_and_new_files(root: Path) -> None:
    (root / "src/embodied_iqa/kernels.py").write_text("A = 1\n")
    _git(root, "commit", "-q", "-a", "-m", "kernels")
    (root / "src/embodied_iqa/units.py").write_text("B = 1\n")
    (root / "docs/README.md").write_text("")
    (root / "config/trial.yaml").unlink()
    there, gone = changed_files(root, "HEAD~1")
    assert there == ["docs/README.md", "src/embodied_iqa/kernels.py", "src/embodied_iqa/units.py"]
    assert gone == ["config/trial.yaml"]


def test_rules_name_tests_that_exist() -> None:
    gone = [(rule.files, test) for rule in RULES for test in rule.tests if not (ROOT / test).exists()]
    assert not gone


def test_a_conftest_selects_its_folder_and_the_first_one_everything() -> None:
    rule = rule_of("tests/unit/gate/conftest.py")
    assert rule is not None
    assert rule.tests == ("tests/unit/gate/",)
    assert rule_of("tests/conftest.py") is None


def test_the_nearest_tests_run_and_all_that_import_the_change() -> None:
    selection = Selection(("a", "b", "c", "d", "e"))
    selection.add("changed.py", {"a": 1, "b": 1, "c": 2, "d": 3}, "they import it")
    assert selection.nearest({"a": 60.0, "b": 70.0, "c": 10.0}, 100.0) == {"a", "b"}
    assert selection.nearest({"a": 60.0, "c": 30.0}, 100.0) == {"a", "b", "c", "d"}
    selection.add("unknown", {"d": 0, "e": 0}, "everything")
    assert selection.nearest({"a": 60.0, "d": 70.0, "e": 10.0}, 0.0) == {"a", "b", "d", "e"}


def test_a_clone_of_one_commit_is_compared_with_it(root: Path) -> None:
    assert default_base(root) == "HEAD"
    _git(root, "commit", "-q", "--allow-empty", "-m", "second")
    assert default_base(root) == "HEAD~1"


def test_durations_are_those_of_the_list() -> None:
    assert min(durations(ROOT).values()) > 0.0
    assert all(name.startswith("tests/") for name in durations(ROOT))
    assert durations(ROOT / "docs") == {}


def test_beginnings_of_paths() -> None:
    selection = Selection(("tests/ros/test_a.py", "tests/unit/test_b.py"))
    assert selection.below(["tests/ros/"]) == ["tests/ros/test_a.py"]
    assert selection.below([]) == []


def test_an_unknown_base_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--base", "no-such-commit"])
    assert end.value.code == 2
    assert "--base: no commit 'no-such-commit'" in capsys.readouterr().err
