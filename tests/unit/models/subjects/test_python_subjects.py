"""Subjects in the user's own code: `python:module:factory`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from vlm_frames import frame_of

from embodied_iqa.base.errors import UserError
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.batching import BatchVla
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.readiness import check_readiness
from embodied_iqa.models.subjects.reference import parse_reference, parse_vla, parse_vlm
from embodied_iqa.models.subjects.registry import make_vla, make_vlm
from embodied_iqa.models.subjects.subject_options import VlmOptions
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.world.protocols import ChunkStatus, Closable, VlaObservation

SOURCE = '''
import numpy as np

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, Vla


class Forward:
    """Moves 1 cm along the tool's z axis."""

    info = SubjectInfo("forward", "3", "Moves forward.", (View.TOP,), simulation_only=True)

    def act(self, observation):
        return ActionChunk(ChunkStatus.ACT, np.array([[0.0, 0.0, 0.01, 0.0, 0.0, 0.0, 0.0]]), "forward")


class Batched(Forward):
    def act_batch(self, observations):
        return [self.act(observation) for observation in observations]

    def close(self):
        self.closed = True


class Describer:
    info = SubjectInfo("word", "1", "Says one word.", (View.TOP,))
    asked = 0

    def answer(self, frame, task):
        type(self).asked += 1
        return task.split()[-1]


class Namespace:
    nested = Describer


def make() -> Vla:
    return Forward()


def untyped():
    return Forward()


def without_info():
    return object()


def broken():
    raise RuntimeError("no weights\\nin two lines")


def undefined() -> "NoSuchName":
    return Forward()


number = 3
'''


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "my_models").mkdir()
    (tmp_path / "my_models" / "__init__.py").touch()
    (tmp_path / "my_models" / "lab.py").write_text(SOURCE)
    (tmp_path / "my_models" / "faulty.py").write_text("import no_such_library\n")
    (tmp_path / "my_models" / "half.py").write_text("def make(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_models"]:
        del sys.modules[name]


def seen() -> VlaObservation:
    return VlaObservation({View.TOP: frame_of(0)}, "pick the red cube", np.eye(4), 0.0, 0)


@pytest.mark.parametrize("factory", ["make", "untyped", "Forward", "Batched"])
def test_a_vla_acts_under_the_name_of_its_reference(factory: str) -> None:
    text = f"python:my_models.lab:{factory}"
    vla = make_vla(parse_vla(f" {text} "))
    assert (vla.info.name, vla.info.version, vla.info.simulation_only) == (text, "3", True)
    assert vla.act(seen()).status is ChunkStatus.ACT
    assert isinstance(vla, BatchVla) == (factory == "Batched")
    assert isinstance(vla, Closable) == (factory == "Batched")


@pytest.mark.parametrize("factory", ["Describer", "Namespace.nested"])
def test_a_vlm_answers_and_is_not_cached(factory: str) -> None:
    vlm = make_vlm(parse_vlm(f"python:my_models.lab:{factory}"), VlmOptions())
    before = sys.modules["my_models.lab"].Describer.asked
    assert [vlm.answer(frame_of(0), "pick the cube") for _ in range(2)] == ["cube", "cube"]
    assert sys.modules["my_models.lab"].Describer.asked == before + 2


@pytest.mark.parametrize(
    ("factory", "role"), [("make", Role.VLA), ("Batched", Role.VLA), ("Describer", Role.VLM)]
)
def test_the_role_follows_from_class_or_annotation(factory: str, role: Role) -> None:
    assert parse_reference(f"python:my_models.lab:{factory}").role is role


def test_nothing_is_imported_before_it_is_needed() -> None:
    assert parse_vla("python:my_models.lab:make").target == "my_models.lab:make"
    resolve((), {"vla_node.subject": "python:my_models.lab:make"})
    assert "my_models.lab" not in sys.modules


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("my_models.lab", "not a name in a module; expected python:MODULE:NAME"),
        ("my models:make", "not a name in a module"),
        ("no_such_module:make", "no module no_such_module; expected an installed module, or"),
        ("no_such.module:make", "module no_such.module cannot be found: No module named 'no_such'"),
        ("my_models.other:make", "no module my_models.other"),
        ("my_models.lab:other", "my_models.lab has no other; available: .*make"),
        ("my_models.lab:number", "is not a factory; expected a class or function; got 'int'"),
        ("my_models.lab:broken", "cannot be loaded: RuntimeError: no weights$"),
        ("my_models.lab:without_info", "not a subject; expected `info`, a SubjectInfo, and a method `act`"),
        ("my_models.lab:Describer", "not a subject; .*`act`; got 'Describer'"),
        ("my_models.faulty:make", "no_such_library is not installed"),
        ("my_models.half:make", "cannot be imported: SyntaxError"),
    ],
)
def test_every_error_is_one_line(target: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        make_vla(parse_vla(f"python:{target}"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("factory", ["untyped", "undefined", "without_info"])
def test_an_open_role_is_asked_for(factory: str) -> None:
    with pytest.raises(UserError, match=r"leaves open whether it makes a VLM, a VLA or a planner; .*-> Vla"):
        parse_reference(f"python:my_models.lab:{factory}")


def test_a_subject_describes_itself() -> None:
    with pytest.raises(UserError, match="a python: subject describes itself"):
        parse_vla("pi0-droid=python:my_models.lab:make")


def test_check_reports_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_readiness("python:my_models.lab:make").is_ready
    assert main(["subjects", "check", "python:my_models.lab:Describer"]) == 0
    assert main(["subjects", "check", "python:my_models.nowhere:make"]) == 2
    assert "no module my_models.nowhere" in capsys.readouterr().err
