"""The panel's evaluation as numbers and as a page."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.panel.evaluation.clean_scenes import ActedTask, AnsweredTask
from embodied_iqa.models.panel.evaluation.evaluate import DistortedScene, PanelEvaluation
from embodied_iqa.models.panel.evaluation.task_ranks import RankedTask
from embodied_iqa.models.panel.panel_members import EvaluationPlan
from embodied_iqa.models.subjects.model_card import ModelCard, load_card, save_card
from embodied_iqa.pages.reports.kit.heat_map import heat_map
from embodied_iqa.pages.reports.kit.origin import origin_line
from embodied_iqa.pages.reports.panel.cards import update_cards
from embodied_iqa.pages.reports.panel.panel_report import write_report
from embodied_iqa.pages.reports.panel.summary import (
    agreement,
    criterion_check,
    graded_responses,
    rank_rows,
    success_by,
    vla_rows,
    vlm_rows,
)
from embodied_iqa.world.tasks.vocabulary import Verb

VLAS, VLMS = ("panel-vla-object", "panel-vla-query"), ("panel-vlm-fine",)


def _evaluation(
    levels: dict[str, tuple[float, ...]], scenes: int = 40, models: Path = Path()
) -> PanelEvaluation:
    """Scenes of which a share succeeds at each level; the same scenes fail for both VLAs."""
    rng = np.random.default_rng(0)
    plan = EvaluationPlan(models, VLAS, VLMS, scenes, scenes, tuple(levels), 1)
    rates = np.array(list(levels.values()))
    acted, answered, ranked, distorted = [], [], [], []
    for index in range(scenes):
        verb = list(Verb)[index % len(Verb)]
        for name in VLAS:
            good = index % 10 != 0
            acted.append(
                ActedTask(name, index, verb, 5, "wood", good, good, acted=True, position_mm=5.0, turn_deg=1.0)
            )
        answered.append(
            AnsweredTask("panel-vlm-fine", index, verb, f"a b c {index}", f"a b c {index}", "x y", "x y")
        )
        for rank in range(1, 6):
            ranked.append(RankedTask(VLAS[0], index, rank, index % 5 >= rank, "", ""))
            ranked.append(
                RankedTask("panel-vlm-fine", index, rank, False, "a b c d e"[: 9 - rank], "a b c d e")
            )
        draw = (index + 0.5) / scenes
        success = np.broadcast_to(draw < rates, (len(VLAS), *rates.shape)).copy()
        shift = np.where(success, 5.0, 200.0) + rng.uniform(0, 1, rates.shape)
        cognition = np.clip(1.0 - shift[:1] / 300.0, 0.0, 1.0)
        refused = ~success & (index % 2 == 0)
        checked = ((True, True), (False, True))
        distorted.append(DistortedScene(index, success, refused, shift, cognition, checked))
    return PanelEvaluation(plan, tuple(acted), tuple(answered), tuple(ranked), tuple(distorted))


def test_a_falling_response_is_graded_and_a_rising_one_is_not() -> None:
    evaluation = _evaluation(
        {"01": (0.9, 0.7, 0.5, 0.3, 0.1), "02": (0.2, 0.4, 0.6, 0.7, 0.85), "03": (0.9,) * 5}
    )
    falling, rising, flat = graded_responses(evaluation)
    assert falling.graded
    assert not rising.graded
    assert flat.shares[0].value == pytest.approx(0.9)
    assert falling.clean.value == pytest.approx(0.9)
    lost = [1 - share.value for share in falling.shares]
    assert falling.refused == pytest.approx([share / 2 for share in lost], abs=0.05)


def test_members_that_fail_together_agree() -> None:
    found = agreement(_evaluation({"01": (0.9, 0.7, 0.5, 0.3, 0.1)}))
    assert found.members == (*VLAS, *VLMS)
    assert found.over_all[0, 1] > 0.8
    assert found.over_all[0, 2] > 0.8
    np.testing.assert_array_equal(found.over_all, found.over_all.T)


def test_rows_count_what_was_done() -> None:
    evaluation = _evaluation({"01": (0.5,) * 5})
    row = vla_rows(evaluation.acted)[0]
    assert row.success.value == pytest.approx(0.9)
    assert row.verb_mean == pytest.approx(0.9)
    assert row.median_mm == pytest.approx(5.0)
    by_verb = success_by(evaluation.acted, member=VLAS[0])
    assert by_verb["cover"].value == 0.0
    assert by_verb["pick"].value == 1.0
    share, pairs = criterion_check(evaluation)
    assert pairs == 2 * 40 + 2 * 40
    assert share.value == pytest.approx(0.75)


def test_answers_are_held_against_both_truths() -> None:
    row = vlm_rows(_evaluation({"01": (0.5,) * 5}).answered)[0]
    assert row.bleu == pytest.approx(1.0)
    assert row.exact.value == 1.0
    assert row.swapped_bleu < 0.2
    assert row.swapped_right == pytest.approx(1.0)
    assert row.changed.value == 1.0


def test_ranks_are_counted_apart() -> None:
    acting, answering = rank_rows(_evaluation({"01": (0.5,) * 5}).ranked)
    assert [share.value for share in acting.shares] == pytest.approx([0.8, 0.6, 0.4, 0.2, 0.0])
    assert acting.scenes == 40
    assert acting.bleu == answering.shares == ()
    assert list(answering.bleu) == sorted(answering.bleu, reverse=True)
    assert answering.bleu[0] > answering.bleu[-1]


def _cards(folder: Path) -> None:
    """Lay down a card for every member."""
    training: dict[str, str | int | float | bool] = {
        "command": "embodied-iqa train panel --seed 1 --out DIR",
        "scenes": 1000,
        "epochs": 1,
        "of_these_with_plain_tasks": 1,
        "augmentation": "none",
        "seed": 1,
        "minutes": 2.5,
    }
    network = {"encoder": "plain", "reader": "gated", "parameters": 1000}
    for name in (*VLAS, *VLMS):
        card = ModelCard(name, name[6:9], "A test.", (View.TOP,), "0" * 64, ("a",), (), network, training)
        save_card(card, folder / f"{name}.json")


def test_cards_get_results_and_failures_as_found(tmp_path: Path) -> None:
    _cards(tmp_path)
    update_cards(_evaluation({"01": (0.9, 0.7, 0.5, 0.3, 0.1), "03": (0.9,) * 5}, models=tmp_path))
    card = load_card(tmp_path / "panel-vla-object.json")
    assert str(card.results["success"]).startswith("90 %")
    assert any("cover (0 %" in failure for failure in card.known_failures)
    assert any(failure.endswith("distortions 01.") for failure in card.known_failures)
    assert load_card(tmp_path / "panel-vlm-fine.json").results["bleu_clean"] == 1.0


def test_the_page_names_weak_verbs_and_links_its_images(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "panel.md"
    _cards(tmp_path / "models")
    evaluation = _evaluation({"01": (0.9, 0.7, 0.5, 0.3, 0.1)}, models=tmp_path / "models")
    write_report(evaluation, page, tmp_path / "docs" / "images")
    text = page.read_text(encoding="utf-8")
    assert "`panel-vla-object` cover (0%)" in text
    links = re.findall(r"^- \[[^\]]+\]\((tables/panel-[a-z-]+\.csv)\) \(CSV\)$", text, re.MULTILINE)
    assert len(links) == 4, "three properties of tasks, and examples"
    assert all((page.parent / link).read_text(encoding="utf-8").count("\n") > 1 for link in links)
    assert "1 of 1 types" in text
    assert text.endswith(f"\n\n{origin_line(page)}\n")
    minutes = 2.5 * len([*VLAS, *VLMS])
    said = f"`embodied-iqa train panel --seed 1 --out DIR`. The epochs took {minutes:.0f} minutes"
    assert said in " ".join(text.split())
    assert all(len(line) <= 100 for line in text.splitlines() if line[:1] not in {"|", "!", "e"})
    for name in ("success", "cognition", "agreement-all", "agreement-within"):
        assert f"images/panel-{name}.svg" in text
        assert (tmp_path / "docs" / "images" / f"panel-{name}.svg").read_text().startswith("<svg")


def test_a_heat_map_shows_every_number_and_greys_missing_ones() -> None:
    svg = heat_map("t <&>", ["a", "b"], ["x", "y"], np.array([[0.0, 1.0], [0.5, np.nan]]))
    assert svg.count("<rect") == 5
    assert "#dddddd" in svg
    assert "t &lt;&amp;&gt;" in svg
