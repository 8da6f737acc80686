"""The evaluation of the panel, whole, on a few scenes and distortions."""

from __future__ import annotations

import pickle

import numpy as np

from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.models.panel.evaluation.evaluate import (
    STILL_MM,
    DistortionPlan,
    distort_scene,
    evaluate_panel,
)
from embodied_iqa.models.panel.panel_members import VLA_NAMES, VLM_NAMES, EvaluationPlan, members_in
from embodied_iqa.models.scoring.frequencies import document_frequencies
from embodied_iqa.models.subjects.backends.panel.shipped_members import MODELS

SHIPPED = members_in()
VLAS, VLMS = (tuple(name for name in SHIPPED if name in role)[:1] for role in (VLA_NAMES, VLM_NAMES))


def test_settings_travel_to_other_processes_and_scenes_repeat() -> None:
    known = document_frequencies(["a b", "b c"])
    settings = DistortionPlan(5, VLAS, VLMS, ("01", "13"), MODELS, dict.fromkeys(VLMS, known))
    travelled = pickle.loads(pickle.dumps(settings))
    one, two = distort_scene(settings, 8), distort_scene(travelled, 8)
    np.testing.assert_array_equal(one.success, two.success)
    np.testing.assert_array_equal(one.cognition, two.cognition)
    assert one.success.shape == one.refused.shape == (1, 2, 5)
    np.testing.assert_array_equal(one.refused, two.refused)
    assert not (one.refused & one.success).any()
    assert (one.shift_mm[one.refused] == STILL_MM).all()
    assert one.cognition.shape == (1, 2, 5)


class RecordedProgress(ProgressBars):
    """Keeps the last update of each stage."""

    def __init__(self) -> None:
        super().__init__()
        self.done: dict[str, float] = {}

    def update(self, stage: str, done: float, *more: object, **named: object) -> None:
        self.done[stage] = done


def test_a_whole_evaluation_reports_every_stage() -> None:
    bars = RecordedProgress()
    plan = EvaluationPlan(MODELS, VLAS, VLMS, 2, 1, ("01",), 9, workers=1)
    found = evaluate_panel(plan, bars)
    assert bars.done == {"acting": 2, "answering": 2, "five tasks a scene": 2, "distorting": 1}
    assert [task.scene for task in found.acted] == [0, 1]
    assert found.answered[0].answer
    assert [(task.member, task.rank) for task in found.ranked] == 2 * [
        (name, rank) for name in VLAS + VLMS for rank in range(1, 6)
    ]
    assert all(bool(task.truth) == (task.member in VLMS) for task in found.ranked)
    assert len(found.distorted) == 1
