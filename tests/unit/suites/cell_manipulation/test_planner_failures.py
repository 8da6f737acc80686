"""Error classes by rules, hand labels, published numbers and trajectory files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.suites.cell_manipulation.actions import CLOSED, OPEN, GridAction
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Episode, Goal, Subset
from embodied_iqa.suites.cell_manipulation.planning.failures import ErrorClass, ErrorKind, failure_of
from embodied_iqa.suites.cell_manipulation.planning.faulty import Fault
from embodied_iqa.suites.cell_manipulation.planning.labels import (
    EXPECTED,
    agreement,
    confusion,
    label_failures,
    read_labels,
    solved_faults,
)
from embodied_iqa.suites.cell_manipulation.planning.published_planners import (
    EPISODES,
    PublishedRow,
    published_rows,
)
from embodied_iqa.suites.cell_manipulation.planning.trajectories import (
    count_trajectories,
    plan_agreements,
    read_trajectories,
)
from embodied_iqa.suites.cell_manipulation.planning.transcript import (
    Bins,
    Ending,
    StepRecord,
    Transcript,
    Turn,
)

GOAL = Goal(CellTask.PLACE, "red cube", "blue bowl")
TRUTH: dict[str, Bins] = {"red cube": (50, 30, 17), "blue bowl": (60, 60, 16), "green ball": (40, 70, 17)}
UP, AT, GRIP = (50, 30, 30, OPEN), (50, 30, 17, OPEN), (50, 30, 17, CLOSED)
CARRY, DROP = (60, 60, 30, CLOSED), (60, 60, 20, OPEN)


def transcript(
    *moves: tuple[int, int, int, int],
    ending: Ending = Ending.STEPS,
    subset: Subset = Subset.BASE,
    listed: tuple[Bins, ...] | None = None,
    holding: str = "",
    fault: str = "",
    errors: int = 0,
    held: int = 0,
    answer: str = "plan",
) -> Transcript:
    steps = tuple(
        StepRecord(
            GridAction(x, y, z, gripper=grip),
            fault,
            "",
            0.0,
            False,
            TRUTH,
            holding if grip == CLOSED else "",
        )
        for x, y, z, grip in moves
    )
    turns = [Turn(listed, TRUTH, answer, "", len(steps), steps)] if steps else []
    turns += [Turn(listed, TRUTH, "?", "no JSON", 0, ())] * errors
    turns += [Turn(None, TRUTH, "", "", 0, (), held=True)] * held
    episode = Episode(subset, CellTask.PLACE, 3, 1, 5, "put the red cube into the blue bowl", (GOAL,))
    missing = "" if ending is Ending.SUCCESS else "cube 9 cm off"
    return Transcript(episode, "p", "1", "clean", tuple(turns), ending, (missing,), 1.0)


def shifted(by: int) -> list[tuple[int, int, int, int]]:
    return [(x, y + by, z, gripper) for x, y, z, gripper in (UP, AT, GRIP, CARRY, DROP)]


CASES = {
    ErrorKind.FORMAT: transcript(errors=5),
    ErrorKind.HELD: transcript(held=5),
    ErrorKind.INVALID_ACTION: transcript(UP, AT, fault="unreachable"),
    ErrorKind.REFLECTION: transcript(UP, UP, UP, UP, UP),
    ErrorKind.TERMINATION: transcript(UP, ending=Ending.EMPTY_PLAN),
    ErrorKind.MISSING_STEP: transcript(UP, AT, (60, 60, 30, OPEN)),
    ErrorKind.HALLUCINATION: transcript(*shifted(-20)),
    ErrorKind.WRONG_RECOGNITION: transcript((40, 70, 17, OPEN), (40, 70, 17, CLOSED), DROP),
    ErrorKind.SPATIAL_UNDERSTANDING: transcript(
        (40, 70, 17, OPEN), (40, 70, 17, CLOSED), DROP, subset=Subset.SPATIAL
    ),
    ErrorKind.INACCURATE_ACTION: transcript(*shifted(4)),
    ErrorKind.COORDINATES: transcript(*shifted(-20), listed=((50, 10, 17),)),
    ErrorKind.SPATIAL_REASONING: transcript(UP, AT, GRIP, CARRY, (20, 20, 20, OPEN), holding="red cube"),
}


@pytest.mark.parametrize("kind", ErrorKind)
def test_each_kind_has_its_rule(kind: ErrorKind) -> None:
    failure = failure_of(CASES[kind])
    assert failure is not None
    assert failure.kind is kind, failure.reason


def test_a_solved_episode_has_no_error() -> None:
    assert failure_of(transcript(UP, AT, GRIP, CARRY, DROP, ending=Ending.SUCCESS)) is None


def test_after_a_good_grip_the_release_counts() -> None:
    never = failure_of(transcript(UP, AT, GRIP, CARRY, holding="red cube"))
    beside = failure_of(transcript(UP, AT, GRIP, CARRY, (40, 70, 30, OPEN), holding="red cube"))
    missed = failure_of(transcript(UP, AT, GRIP, CARRY, (63, 60, 30, OPEN), holding="red cube"))
    away = failure_of(transcript(UP, AT, GRIP, CARRY, (80, 40, 20, OPEN), holding="red cube"))
    kinds = [one.kind for one in (never, beside, missed, away) if one is not None]
    assert kinds == [
        ErrorKind.MISSING_STEP,
        ErrorKind.WRONG_RECOGNITION,
        ErrorKind.INACCURATE_ACTION,
        ErrorKind.SPATIAL_REASONING,  # also where the destination is the nearest thing
    ]
    assert never is not None
    assert never.error_class is ErrorClass.PLANNING


def test_hand_labels_win_and_must_fit(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("arm,episode,kind,who\nclean,base-003,hallucination,me\n")
    (one,) = label_failures([CASES[ErrorKind.FORMAT]], read_labels(file))
    assert (one.kind, one.by_rules, one.by_hand) == (ErrorKind.HALLUCINATION, ErrorKind.FORMAT, True)
    with pytest.raises(InputError, match="not failed"):
        label_failures([], read_labels(file))
    file.write_text("arm,episode,kind\nclean,base-003,bad luck\n")
    with pytest.raises(InputError, match="line 2"):
        read_labels(file)


def test_seeded_faults_make_a_confusion_matrix() -> None:
    answer = json.dumps({"reasoning_and_reflection": "seeded fault: offset"})
    found = label_failures([transcript(*shifted(4), answer=answer), CASES[ErrorKind.HELD]], {})
    table = confusion(found)
    assert {str(fault): dict(counts) for fault, counts in table.items()} == {
        "offset": {ErrorKind.INACCURATE_ACTION: 1}
    }
    assert agreement(table) == (1, 1)
    solved = transcript(*shifted(0), ending=Ending.SUCCESS, answer=answer.replace("offset", "fence"))
    assert solved_faults([solved, CASES[ErrorKind.HELD]]) == {Fault.FENCE: 1}
    assert set(EXPECTED.values()) <= set(ErrorKind)


HALF_DIGIT = 0.0501
"""Half of the published table's last digit, and a little for the binary form of decimals."""


def solved_of(row: PublishedRow) -> int | None:
    """Solved episodes of 228; None where a subset's value is not a share of its episodes."""
    shares = [
        (share, round(share * EPISODES[one] / 100), EPISODES[one]) for one, share in row.subsets.items()
    ]
    fit = all(abs(100 * count / episodes - share) <= HALF_DIGIT for share, count, episodes in shares)
    return sum(count for _, count, _ in shares) if fit else None


def test_the_published_numbers_are_shares_of_the_episodes_but_for_the_known_exceptions() -> None:
    rows = {row.model: row for row in published_rows()}
    assert (len(rows), sum(EPISODES.values())) == (14, 228)
    solved = {model: solved_of(row) for model, row in rows.items()}
    assert solved["GPT-4o"] == 66
    assert [model for model, count in solved.items() if count is None] == ["Llama-3.2-90B-Vision"]
    over_episodes = {model: 100 * count / 228 for model, count in solved.items() if count is not None}
    wrong = [one for one, mean in over_episodes.items() if abs(mean - rows[one].average) > HALF_DIGIT]
    assert wrong == ["InternVL3-38B"]
    plain = sum(rows["InternVL3-38B"].subsets.values()) / len(EPISODES)
    assert plain == pytest.approx(rows["InternVL3-38B"].average, abs=HALF_DIGIT)


def entry(model: str, number: int, plan: object, *, success: int = 0) -> dict[str, object]:
    turn = {"input_image_path": "a.png", "executable_plan": plan}
    head = {"model_name": model, "eval_set": "base", "episode_id": number, "instruction": "pick"}
    return head | {"success": success, "trajectory": [turn]}


def test_trajectories_of_both_formats_are_counted_and_what_is_skipped_is_said(tmp_path: Path) -> None:
    step = {"action": "[54, 60, 17, 0, 60, 30, 1]", "action_success": 1, "img_path": "b.png"}
    bad = {"action": "[154, 60, 17, 0, 60, 30, 1]", "action_success": 0}
    tree = [
        entry("a", 1, [step, bad], success=1),
        entry("b", 1, step),
        entry("a", 2, "none"),
        {"model_name": "a"},
        7,
        entry("b", 2, [step]) | {"trajectory": [{"image": "c.png"}]},
    ]
    file = tmp_path / "multi.json"
    file.write_text(json.dumps(tree))
    found = read_trajectories(file)
    first, second = count_trajectories(found.trajectories)
    assert (first.episodes, first.successes, first.format_errors) == (2, 1, 1)
    assert (first.actions, first.out_of_grid, first.invalid) == (2, 1, 1)
    assert (second.model, second.turns, second.actions) == ("b", 1, 1)
    assert sum(found.skipped.values()) == 3
    (pair,) = plan_agreements(found.trajectories)
    assert (pair.episodes, pair.same_action, pair.same_plan) == (1, 1, 0)
    file.write_text('"text"')
    with pytest.raises(InputError, match="not a trajectory file"):
        read_trajectories(file)
    file.write_text('[7, {"model_name": "a"}, 8]')
    with pytest.raises(InputError, match=r"no readable episode.*2 times episode is not a mapping"):
        read_trajectories(file)
    file.write_text("[]")
    with pytest.raises(InputError, match="an empty list"):
        read_trajectories(file)
