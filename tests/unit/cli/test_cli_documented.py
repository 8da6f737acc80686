"""Guides and references agree with the program: commands, options, parameters, names and tables."""

from __future__ import annotations

import argparse
import ast
import importlib
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.base.config import parameters_of
from embodied_iqa.base.resources import source_checkout
from embodied_iqa.cli.main import COMMANDS
from embodied_iqa.cli.parser import FORMER, Parser
from embodied_iqa.data.database import schema
from embodied_iqa.data.database.run_rows import COLUMNS
from embodied_iqa.imaging.distortions import catalogue, miqd_catalogue
from embodied_iqa.models.subjects.catalogue import entries
from embodied_iqa.runs.graph.launch_arguments import GATE_LAUNCH_ARGUMENTS
from embodied_iqa.runs.graph.launching import RESCORE_ARGUMENTS, TRIAL_ARGUMENTS
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.graph.parameter_files import read_sections
from embodied_iqa.runs.graph.parameters import VlaParameters, VlmParameters

ROOT = source_checkout() or Path()
DOCS = ROOT / "docs"
PAGES = {
    page.relative_to(ROOT).as_posix(): page for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
}
COMMAND = "embodied-iqa"
FILE_ENDINGS = (
    "bag",
    "csv",
    "db3",
    "hpp",
    "html",
    "in",
    "ipynb",
    "json",
    "jsonl",
    "mat",
    "mcap",
    "md",
    "npz",
    "parquet",
    "png",
    "py",
    "txt",
    "yaml",
    "yml",
)
NOT_PARAMETERS = {"datasets.load_dataset", "header.stamp", "observation.state", "torchvision.models"}


@cache
def text_of(page: str) -> str:
    return PAGES[page].read_text(encoding="utf-8")


def blocks(page: str, kind: str) -> list[str]:
    fenced = re.findall(r"^( *)```(\w*)\n(.*?)^ *```$", text_of(page), flags=re.MULTILINE | re.DOTALL)
    return [
        re.sub(rf"^{indent}", "", content, flags=re.MULTILINE)
        for indent, name, content in fenced
        if name == kind
    ]


def spans(page: str) -> list[str]:
    """Words in code marks, outside of code blocks."""
    prose = re.sub(r"^ *```.*?^ *```$", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    return [re.sub(r"\s+", " ", span) for span in re.findall(r"`([^`]+)`", prose)]


def shell_lines() -> Iterator[tuple[str, list[str]]]:
    for page in PAGES:
        for block in blocks(page, ""):
            for line in block.replace("\\\n", " ").splitlines():
                if re.match(rf"([A-Z_]+=\S+ )*(\.venv/bin/)?({COMMAND}|make|python|ros2) ", line):
                    words = shlex.split(line, comments=True)
                    while re.match(r"[A-Z_]+=", words[0]):
                        words = words[1:]
                    yield page, [words[0].removeprefix(".venv/bin/"), *words[1:]]


def lines_of(program: str) -> list[pytest.param]:
    found = [(page, tuple(words[1:])) for page, words in shell_lines() if words[0] == program]
    return [pytest.param(page, words, id=f"{page}: {' '.join(words)}") for page, words in found]


@cache
def parser_of(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(exit_on_error=False)
    importlib.import_module(COMMANDS[name][0]).configure(parser)
    return parser


def known_parameters() -> set[str]:
    values = resolve().values()
    own = {parameter.name for kind in (VlaParameters, VlmParameters) for parameter in parameters_of(kind)}
    return own | {f"{node}.{name}" for node in values for name in values[node]}


@pytest.mark.parametrize(("page", "words"), lines_of(COMMAND))
def test_every_command_is_understood(page: str, words: tuple[str, ...]) -> None:
    if words[0] == "--help":
        return
    arguments = vars(parser_of(words[0]).parse_args(list(words[1:])))
    for setting in arguments.get("set") or ():
        name = setting if isinstance(setting, str) else setting[0]
        assert name.partition("=")[0] in known_parameters(), page


def options_of(parser: argparse.ArgumentParser, words: list[str]) -> set[str]:
    """Options that the sub-command understands which the words name."""
    if isinstance(parser, Parser):
        parser.complete()
    known = set(parser._option_string_actions)
    for action in parser._subparsers._group_actions if parser._subparsers else ():
        choices = dict(action.choices or {})
        chosen = [choices[word] for word in words if word in choices] or list(choices.values())
        known |= {option for choice in chosen for option in options_of(choice, words)}
    return known


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_sentences_exist(page: str) -> None:
    for span in spans(page):
        program, *words = span.split()
        if program == COMMAND and words and words[0] not in {"COMMAND", "--help"}:
            assert words[0] in COMMANDS, span
            options = {word.partition("=")[0] for word in words if word.startswith("--")}
            assert options <= options_of(parser_of(words[0]), words), span
        if program == "make" and words:
            assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), span


@pytest.mark.parametrize(("page", "words"), lines_of("make"))
def test_every_target_exists(page: str, words: tuple[str, ...]) -> None:
    assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), page


@pytest.mark.parametrize(("page", "words"), lines_of("python"))
def test_every_script_has_its_options(page: str, words: tuple[str, ...]) -> None:
    script = ROOT / words[0]
    source = script.read_text(encoding="utf-8")
    beside = [
        script.with_name(f"{name}.py") for name in re.findall(r"^from (\w+) import", source, re.MULTILINE)
    ]
    source += "".join(file.read_text(encoding="utf-8") for file in beside if file.is_file())
    missing = [word for word in words[1:] if word.startswith("--") and f'"{word}"' not in source]
    assert not missing, page


@pytest.mark.parametrize(("page", "words"), lines_of("ros2"))
def test_launch_arguments_exist(page: str, words: tuple[str, ...]) -> None:
    files = {
        "trial.launch.py": TRIAL_ARGUMENTS,
        "rescore.launch.py": RESCORE_ARGUMENTS,
        "gate.launch.py": GATE_LAUNCH_ARGUMENTS,
    }
    if words[:2] == ("launch", "embodied_iqa"):  # files of other packages are theirs
        known = {argument.name for argument in files[words[2]]}
        assert {word.partition(":=")[0] for word in words[3:] if ":=" in word} <= known, page


def test_there_is_something_to_check() -> None:
    assert len(lines_of(COMMAND)) >= 60
    assert len(lines_of("python")) >= 3
    assert len(blocks("docs/robot-guide.md", "yaml")) >= 4


@pytest.mark.parametrize("number", range(len(blocks("docs/robot-guide.md", "yaml"))))
def test_every_setting_exists_and_has_a_legal_value(number: int, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(blocks("docs/robot-guide.md", "yaml")[number], encoding="utf-8")
    overrides = {
        f"{section.node.removeprefix('/')}.{name}": value
        for section in read_sections(path)
        for name, value in section.values().items()
    }
    together = (
        ".source",
        ".driver",
        ".gripper",
        ".robot",
        ".model",
        ".ip",
    )  # they depend on each other: the next test
    alone = {name: value for name, value in overrides.items() if not name.endswith(together)}
    config = resolve((), alone)
    for name, value in alone.items():
        node, _, parameter = name.partition(".")
        is_path = parameter == "calibration"  # a path is that of a file beside the parameter file, or of here
        assert config.values()[node][parameter] == (str(Path(str(value)).resolve()) if is_path else value)


def test_the_settings_of_the_robot_guide_go_together(tmp_path: Path) -> None:
    files: dict[bool, list[Path]] = {False: [], True: []}
    for number, block in enumerate(blocks("docs/robot-guide.md", "yaml")):
        path = tmp_path / f"{number}.yaml"
        path.write_text(block, encoding="utf-8")
        files["driver: ros2_control" in block or "source: topic" in block].append(path)
    graph = resolve(files[False], {"vla_node.subject": "classical-vla"})
    arm = graph.arm_node
    assert (arm.robot, arm.model, arm.driver, arm.ur.ip) == ("ur5", "ur5", "rtde", "192.168.1.10")
    assert graph.camera_node.source == "realsense"
    beside, foreign = (
        resolve([*files[False], other], {"vla_node.subject": "classical-vla"}) for other in files[True]
    )
    assert (beside.arm_node.driver, foreign.camera_node.source) == ("ros2_control", "topic")


@pytest.mark.parametrize("page", PAGES)
def test_words_in_code_marks_that_look_like_parameters_exist(page: str) -> None:
    known = known_parameters()
    marked = {span.partition("=")[0] for span in spans(page)}
    dotted = {word for word in marked if re.fullmatch(r"[a-z_]+(?:\.[a-zA-Z_]+)+", word)}
    parameters = {
        word for word in dotted if word.rpartition(".")[2] not in FILE_ENDINGS and word not in NOT_PARAMETERS
    }
    unknown = {word for word in parameters if not any(name.endswith(word) for name in known)}
    assert {word for word in unknown if not is_name(word)} == set()


def is_name(word: str) -> bool:
    """Whether a dotted word is a module of this package or a name in one."""
    module, _, name = word.rpartition(".")
    if not word.startswith("embodied_iqa"):
        return False
    try:
        return hasattr(importlib.import_module(module), name) or bool(importlib.import_module(word))
    except ImportError:
        return False


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")])
def test_python_examples_import_what_exists(page: str) -> None:
    for block in blocks(page, "python"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("embodied_iqa"):
                module = importlib.import_module(node.module or "")
                assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


def rows_of(page: str) -> dict[str, list[str]]:
    """Rows of the tables whose first cell is a word in code marks."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text_of(page).splitlines()]
    return {row[0].strip("`"): row[1:] for row in rows if re.fullmatch(r"`[^`]+`", row[0])}


def test_every_column_is_documented() -> None:
    tables = (schema.REFERENCES, schema.TASKS, schema.PAIRS, schema.ANNOTATIONS, schema.SCORES)
    columns = {name for table in tables for name in table.names}
    assert columns - set(spans("docs/reference/database.md")) == set()
    assert set(COLUMNS) - set(spans("docs/reference/experiment.md")) == set()


def test_the_change_log_lists_every_deprecated_option() -> None:
    deprecated = (
        (ROOT / "CHANGELOG.md")
        .read_text(encoding="utf-8")
        .partition("### Deprecated")[2]
        .partition("\n### ")[0]
    )
    words = " ".join(deprecated.split())
    for place, names in FORMER.items():
        listed = words.partition(f"`{' '.join(place)}` `--")[2].partition("; ")[0]
        assert {f"`{old}` (`{present}`)" for old, present in names.items()} <= set(
            f"`--{listed}".rstrip(".").split(", ")
        ), place


def test_every_source_of_a_database_is_documented() -> None:
    row = next(line for line in text_of("docs/reference/database.md").splitlines() if "`source`, " in line)
    assert set(schema.SourceKind) - set(re.findall(r"`(\w+)`", row)) == set()


def test_the_catalogue_has_as_many_subjects_as_documented() -> None:
    assert f"lists {len(entries())} subjects:" in text_of("docs/reference/subjects.md")


def test_the_table_of_the_times_of_a_lease_is_right() -> None:
    rows = {name: row[:2] for name, row in rows_of("docs/reference/lease.md").items() if name.endswith("_s")}
    expected = {
        parameter.name: [f"{parameter.default}", str(parameter.limits)]
        for parameter in parameters_of(LeaseOptions)
    }
    assert rows == expected


def test_the_tables_of_distortions_are_right() -> None:
    expected = {
        line.id: [
            line.name,
            str(line.distortion_class),
            "/".join(line.parameter_names),
            *("/".join(f"{value:g}" for value in row) for row in line.parameters),
            str(line.source),
        ]
        for line in (*catalogue(), *miqd_catalogue())
    }
    assert rows_of("docs/reference/distortions.md") == expected
