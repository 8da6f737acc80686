"""References of LIBERO: candidates of the initial states, with a stand-in for LIBERO's packages."""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from embodied_iqa.base.errors import MissingDependencyError, UsageError, UserError
from embodied_iqa.base.kept import keep_open
from embodied_iqa.base.tables import rows_of
from embodied_iqa.cli.gate import fitting
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.schema import Person, Reference, ReferenceTask, SourceKind
from embodied_iqa.data.database.sources.libero import LiberoSource
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.subject_options import Acts
from embodied_iqa.world.libero.suite_world import VARIABLE, native_state_of
from embodied_iqa.world.libero.suites import AGENTVIEW
from libero_stand_in import write_libero

SUITES = ("libero_object", "libero_spatial")


@pytest.fixture(autouse=True)
def _libero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "packages").mkdir()
    monkeypatch.setenv(VARIABLE, str(write_libero(tmp_path / "packages")))


def test_suites_tasks_and_cameras_take_turns():
    source = LiberoSource(SUITES)
    assert source.count == 1000
    with keep_open():
        found = [source.read(index) for index in (0, 1, 4, 8, 80)]
    where = [candidate.origin.partition(";")[0] for candidate in found]
    assert where == [
        "libero_object, pick up the alphabet soup and place it in the basket, initial state 0",
        "libero_object, pick up the alphabet soup and place it in the basket, initial state 1",
        "libero_spatial, pick up the alphabet soup and place it in the basket, initial state 0",
        "libero_object, pick up the milk and place it in the basket, initial state 0",
        "libero_object, pick up the alphabet soup and place it in the basket, initial state 4",
    ]
    assert [candidate.view == View.WRIST for candidate in found] == [False, True, False, True, False]
    assert len({candidate.tasks[0].id for candidate in found}) == 5
    first = found[0]
    assert (first.source, first.real, first.main_object) == (SourceKind.LIBERO, False, None)
    assert set(first.frames) == {AGENTVIEW, View.WRIST}
    assert first.instruction == first.tasks[0].text


def test_every_initial_state_of_every_task_is_there_once():
    source = LiberoSource((*SUITES, "libero_90"))
    places = [source._place(index) for index in range(source.count or 0)]
    assert len(set(places)) == len(places) == 50 * 110
    tasks = [place[:2] for place in places]
    assert sum(before != after for before, after in pairwise(tasks)) == 110 * 13 - 1, "changes of the task"
    assert {place[2] for place in places} == set(range(50))


def test_a_database_is_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ["build", "--world", "libero_object", "--references", "4", "--steps", "references,tasks"]
    assert main([*words, "--out", str(tmp_path / "db")]) == 0, capsys.readouterr().err
    store = DatabaseStore(tmp_path / "db")
    rows = rows_of(Reference, store.references())
    assert {row.source for row in rows} == {SourceKind.LIBERO}
    assert {row.person for row in rows} <= {Person.FIRST, Person.THIRD}
    assert all(row.main_object is None and row.scene_seed is None and len(row.cameras) == 2 for row in rows)
    assert [task.rank for task in rows_of(ReferenceTask, store.tasks())] == [1] * len(rows)
    fit = argparse.Namespace(out="gate.yaml", vla="pi0-libero=openpi://gpu:8000")
    words = "experiment --world libero_object --vla pi0-libero=openpi://gpu:8000 --gate off,learned"
    words += " --calibration gate.yaml --out DIR"
    plan: Any = SimpleNamespace(judge="learned", acts=Acts.WHEN_SEEN)
    assert fitting._next(fit, store, plan) == tuple(words.split()), "what a gate that is fitted is for"


def test_what_cannot_be_is_named(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(UsageError, match="unknown world"):
        LiberoSource(("libero_moon",))
    with pytest.raises(UsageError, match="available: libero_spatial, "):
        LiberoSource(("cell",))
    with pytest.raises(UsageError, match="each suite once"):
        LiberoSource(("libero_10", "libero_10"))
    with pytest.raises(UsageError, match="LIBERO has no such camera"):
        LiberoSource(SUITES, (View.TOP,))
    with pytest.raises(UserError, match="no such suite"):
        LiberoSource(("libero_goal",)).read(0)
    monkeypatch.setenv(VARIABLE, "/nowhere/python")
    with pytest.raises(MissingDependencyError, match="make libero"):
        LiberoSource(SUITES)


def test_the_state_that_policies_are_told_follows_from_pose_and_gripper():
    source = LiberoSource(SUITES)
    candidate = source.read(0)
    told = native_state_of(candidate.T_base_tool, candidate.gripper)
    angle = 2 * np.arccos(-0.04 / np.hypot(0.9992, 0.04))
    np.testing.assert_allclose(told, [0, 0, 0.3, angle, 0, 0, 0.04, -0.04], atol=1e-9)
