"""YAML and JSON files that people can edit are read by `embodied_iqa.base.user_files` alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from style_sources import PACKAGE, ROOT, Source, sources

_PARSERS = {
    "json": {"load", "loads", "JSONDecoder"},
    "yaml": {
        *("load", "load_all", "safe_load", "safe_load_all", "full_load", "full_load_all", "unsafe_load"),
        *("unsafe_load_all", "scan", "parse", "compose", "compose_all"),
    },
}
_READER = "src/embodied_iqa/base/user_files/"
_OWN_LINES = "lines that this package writes and reads between its own processes"
_ROUND_TRIP = "makes plain data of a record; reads no file"
_OWN_STATE = "a file that this package alone writes and reads again"
_ANSWER = "the answer of a server or a model, not a file"
ALLOWED = {
    "src/embodied_iqa/data/journal/log.py": "lines of the journal, which have checksums",
    "src/embodied_iqa/runs/graph/judging_process.py": _OWN_LINES,
    "src/embodied_iqa/runs/graph/gate_watching_process.py": _OWN_LINES,
    "src/embodied_iqa/live/ros/judging.py": _OWN_LINES,
    "src/embodied_iqa/arm/robot/ur/messages.py": _OWN_LINES,
    "src/embodied_iqa/arm/robot/ur/worker.py": _OWN_LINES,
    "src/embodied_iqa/quality/metrics/pyiqa/worker.py": (
        f"{_OWN_LINES}; has no package but its own environment's"
    ),
    "src/embodied_iqa/base/worker_process.py": _OWN_LINES,
    "src/embodied_iqa/world/libero/worker.py": f"{_OWN_LINES}; has no package but its own environment's",
    "src/embodied_iqa/quality/metrics/pyiqa/trainer.py": (
        f"{_OWN_LINES}; has no package but its own environment's"
    ),
    "src/embodied_iqa/quality/gate/calibration_file.py": _ROUND_TRIP,
    "src/embodied_iqa/base/jobs/plan.py": _ROUND_TRIP,
    "src/embodied_iqa/suites/cell_manipulation/planning/prompt.py": (
        "a line of a prompt that this package made"
    ),
    "src/embodied_iqa/models/vision/backends/torchvision.py": "metadata inside of a safetensors file",
    "src/embodied_iqa/quality/metrics/training/measuring.py": _OWN_STATE,
    "src/embodied_iqa/imaging/distortions/entry.py": (
        "a table of this package; distortions need no more than it does"
    ),
    "src/embodied_iqa/imaging/distortions/manifest.py": _OWN_STATE,
    "src/embodied_iqa/models/subjects/answer_cache.py": _OWN_STATE,
    "src/embodied_iqa/base/training/training_state.py": _OWN_STATE,
    "src/embodied_iqa/models/panel/samples/sample_files.py": _OWN_STATE,
    "scripts/mutants/results.py": _OWN_STATE,
    "scripts/reach/selection.py": _OWN_STATE,
    "scripts/stress/results.py": _OWN_STATE,
    "scripts/mutants/baseline.py": _OWN_STATE,
    "scripts/mutants/children.py": _OWN_STATE,
    "src/embodied_iqa/models/subjects/backends/openai_planner.py": "a schema that this package made",
    "src/embodied_iqa/suites/cell_manipulation/planning/loose_json.py": _ANSWER,
    "src/embodied_iqa/models/subjects/backends/openai_server.py": _ANSWER,
    "src/embodied_iqa/models/subjects/wire/json_arrays.py": _ANSWER,
    "src/embodied_iqa/models/subjects/checkpoints.py": (
        "published checkpoints, read as other libraries read them, and hashes that this package has written"
    ),
    "src/embodied_iqa/models/subjects/catalogue/tables.py": (
        "tables of this package with merge keys; tested there"
    ),
}
"""Files that parse JSON or YAML themselves, and why."""


def _parses(source: Source) -> Iterator[int]:
    """Yield the lines in which a file names a parser of JSON or YAML, by module or imported from it."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in _PARSERS.get(module, ()):
                yield node.lineno
            case ast.ImportFrom(module=str(module), names=names):
                if _PARSERS.get(module, set()) & {name.name for name in names}:
                    yield node.lineno
            case ast.Import(names=names):
                if any(name.name in _PARSERS and name.asname for name in names):
                    yield node.lineno


def _found() -> dict[str, int]:
    return {
        source.name: line
        for source in sources("src", "launch", "scripts", "examples")
        if not source.name.startswith(_READER) and (line := next(_parses(source), 0))
    }


def test_files_that_people_write_have_one_reader() -> None:
    wrong = [f"{name}:{line}" for name, line in _found().items() if name not in ALLOWED]
    assert not wrong, f"read these with embodied_iqa.base.user_files: {', '.join(wrong)}"


def test_the_exceptions_are_used() -> None:
    assert set(ALLOWED) <= set(_found())


def test_the_reader_is_where_this_test_looks() -> None:
    assert (ROOT / _READER).is_dir()
    assert (PACKAGE / "base" / "user_files").is_dir()


def test_a_parser_is_found_however_it_is_imported() -> None:
    texts = ("yaml.safe_load(x)", "from json import loads", "import json as j", "json.loads(x)")
    for text in texts:
        assert any(_parses(_Text(ast.parse(text)))), text  # type: ignore[arg-type]
    assert not any(_parses(_Text(ast.parse("json.dumps(yaml.dump(x)); import json"))))  # type: ignore[arg-type]


class _Text:
    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
