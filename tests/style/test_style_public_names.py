"""The public names are those of docs/python.md, and guides and examples import no others."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from types import UnionType

import pytest
from guide_spans import spans
from style_sources import ROOT

import embodied_iqa
from embodied_iqa.base.plugins import PluginGroup

_FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_INSIDE = {"examples/first_day/person.py"}
"""Is no pattern to copy: it answers for a person in the rehearsal, in a process that ends with the graph."""
_PARTS = {
    "data.analysis.study": "the analysis of a report, which changes with the report",
    "data.lerobot": "rows of a data set, read by their fields",
    "imaging.images": "an image of a recording, read by its fields",
    "models.scoring.decision": "parts of a score",
    "quality.gate.bounds": "parts of a judgement",
    "quality.gate.image_statistics": "parts of a judgement",
    "quality.gate.second_stage": "asked by `Gate.judge_motion` alone",
    "runs.offline.stored_run": "parts of a `Run`",
    "runs.trial": "parts of `RunScores`",
    "suites.cell_manipulation": "parts of an episode and an observation; truth of the simulation",
    "world.scenes": "parts of a `Scene`, which is drawn; truth of the simulation",
    "world.tasks": "parts of a `Task`, which is made",
    "base.kinematics.models": "an arm by name: a `Scene` that is drawn has it",
}
"""Rooms of types without a public name: their values are read, and nobody has to make or name one."""
_TAKEN = {"quality.gate.image_statistics.Statistic"}
"""Arguments without a public name: `ImageStatistics` has each value as a field, too."""
GUIDES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))
EXAMPLES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "examples").rglob("*")
    if path.suffix in {".py", ".ipynb"}
)


def programs(name: str) -> list[str]:
    """Return the Python text of a page, a notebook or a script."""
    text = (ROOT / name).read_text(encoding="utf-8")
    match Path(name).suffix:
        case ".md":
            return _FENCE.findall(text)
        case ".ipynb":
            return [
                "".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"
            ]
        case _:
            return [text]


def not_public(program: str) -> Iterator[str]:
    """Yield what a program takes from the package that is not a public name of it."""
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.ImportFrom) and node.module == "embodied_iqa":
            yield from (alias.name for alias in node.names if alias.name not in embodied_iqa.__all__)
        elif isinstance(node, ast.ImportFrom):
            yield from [node.module] if (node.module or "").startswith("embodied_iqa.") else []
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("embodied_iqa."))
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "embodied_iqa":
            yield from [node.attr] if node.attr not in embodied_iqa.__all__ else []


@pytest.mark.parametrize("name", [*GUIDES, *EXAMPLES])
def test_guides_and_examples_import_public_names_only(name: str) -> None:
    found = [taken for program in programs(name) for taken in not_public(program)]
    assert bool(found) == (name in _INSIDE), found


def not_public_inline(span: str) -> list[str]:
    """Return what words in code marks take from the package that is not public; a program (`-m`) is."""
    groups = {group.value for group in PluginGroup}
    named = re.findall(r"(?<!-m )(?<![\w./-])embodied_iqa\.(\w[\w.]*\w)", span)
    return [name for name in named if f"embodied_iqa.{name}" not in groups and not _is_public(name)]


def _is_public(name: str) -> bool:
    return name.partition(".")[0] in embodied_iqa.__all__


def test_guides_name_public_names_only_in_code_marks() -> None:
    found = [
        f"{page}: {name}"
        for span, pages in spans().items()
        for page in sorted(pages.intersection(GUIDES))
        for name in not_public_inline(span)
    ]
    assert not found, "\n".join(found)


def test_what_is_not_public_is_found() -> None:
    assert not_public_inline("embodied_iqa.base.errors") == ["base.errors"]
    assert not_public_inline("x = embodied_iqa.load_metric('ssim')") == ["load_metric"]
    assert not_public_inline("embodied_iqa.Gate.judge") == []
    assert not_public_inline("python -m embodied_iqa.live.nodes.gate_filter_node") == []
    assert not_public_inline("embodied_iqa.metrics or embodied_iqa_msgs.msg") == []
    assert list(not_public("from embodied_iqa.base import errors")) == ["embodied_iqa.base"]
    assert list(not_public("import embodied_iqa.cli.main")) == ["embodied_iqa.cli.main"]
    assert list(not_public("import embodied_iqa\nembodied_iqa.load_metric")) == ["load_metric"]
    assert list(not_public("from embodied_iqa import measure, gauge")) == ["gauge"]
    assert list(not_public("from embodied_iqa import measure\nfrom embodied_iqa_msgs.msg import A")) == []


def test_the_tables_name_what_is_exported_and_nothing_else() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    listed: set[str] = set()
    for head, column in (("| Name | Purpose |", 0), ("| For | Names |", 1)):
        table = page.split(head)[1].split("\n\n")[0]
        for row in table.splitlines()[2:]:
            listed |= set(re.findall(r"`(\w+)", row.strip("|").split("|")[column]))
    assert listed == set(embodied_iqa.__all__) - {"__version__"}


def test_every_public_name_is_declared_to_type_checkers_as_it_is_loaded() -> None:
    tree = ast.parse(Path(embodied_iqa.__file__).read_text(encoding="utf-8"))
    declared = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("embodied_iqa.")
        for alias in node.names
        if node.module != "embodied_iqa.base.lazy"
    }
    assert declared.keys() == set(embodied_iqa.__all__) - {"__version__"}
    for name, (module, own) in declared.items():
        assert getattr(embodied_iqa, name) is getattr(importlib.import_module(str(module)), own), name


def named_types(annotation: object) -> Iterator[type]:
    """Yield the types of the package in an annotation."""
    origin = typing.get_origin(annotation)
    if origin is not None or isinstance(annotation, UnionType):
        for part in (origin, *typing.get_args(annotation)):
            yield from (
                found for one in (part if isinstance(part, list) else [part]) for found in named_types(one)
            )
    elif isinstance(annotation, type) and annotation.__module__.startswith("embodied_iqa."):
        yield annotation


def signatures(public: object) -> Iterator[tuple[object, bool]]:
    """Yield each annotation of a public name, and whether an argument of a function or method has it."""
    for name, value in vars(public).items() if isinstance(public, type) else [("", public)]:
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        written = inspect.isfunction(function) and not function.__code__.co_filename.startswith("<")
        if written and (not name.startswith("_") or name in {"__init__", "__call__"}):
            hints = typing.get_type_hints(function)
            yield from ((hint, argument != "return") for argument, hint in hints.items())
    if isinstance(public, type):
        yield from ((hint, False) for hint in typing.get_type_hints(public).values())


def test_what_public_names_take_and_return_is_public() -> None:
    public = {name: getattr(embodied_iqa, name) for name in embodied_iqa.__all__ if name != "__version__"}
    hidden: set[str] = set()
    for name, value in public.items():
        for annotation, argument in signatures(value):
            for found in named_types(annotation):
                place = f"{found.__module__.removeprefix('embodied_iqa.')}.{found.__qualname__}"
                excused = (
                    place in _TAKEN if argument else place.startswith(tuple(f"{room}." for room in _PARTS))
                )
                if found not in public.values() and not excused:
                    hidden.add(f"{name}: {place}")
    assert not hidden, "\n".join(sorted(hidden))


def test_a_type_that_is_not_public_is_found() -> None:
    assert set(named_types(list[Path | PluginGroup])) == {PluginGroup}
    assert set(named_types(Callable[[PluginGroup], None])) == {PluginGroup}
    taken = {
        found
        for hint, argument in signatures(embodied_iqa.make_tasks)
        if argument
        for found in named_types(hint)
    }
    assert taken == {embodied_iqa.Scene, embodied_iqa.View, embodied_iqa.Instruction}


def test_the_package_is_imported_without_any_library() -> None:
    code = (
        "import sys, embodied_iqa; print([n for n in ('numpy', 'torch', 'cv2', 'rclpy') if n in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
    code = "import sys, embodied_iqa; embodied_iqa.Gate; print({'cattrs', 'yaml', 'scipy'} & {*sys.modules})"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"
    with pytest.raises(AttributeError, match="has no attribute 'load_metric'"):
        embodied_iqa.load_metric  # noqa: B018
