"""Answers of planners: each is a plan or an error with a name, whatever the model wrote."""

from __future__ import annotations

import json
import random

import pytest

from embodied_iqa.suites.cell_manipulation.actions import GridAction
from embodied_iqa.suites.cell_manipulation.planning.planner_answers import (
    AnswerError,
    FormatError,
    Plan,
    parse_answer,
)
from embodied_iqa.suites.cell_manipulation.planning.planner_options import PromptOptions
from embodied_iqa.suites.cell_manipulation.planning.prompt import plan_text, schema_text

A = [54, 60, 17, 0, 60, 30, 1]
B = [54, 60, 25, 0, 60, 30, 0]
TWO = (A, B)
TEXTS = {"visual_state_description": "a cube", "reasoning_and_reflection": "it's left", "language_plan": "1."}
WHOLE = TEXTS | {"executable_plan": [{"action": str(A)}, {"action": str(B)}]}
JSON = json.dumps(WHOLE)


def planned(plan: object) -> str:
    return json.dumps(TEXTS | {"executable_plan": plan})


def raw(plan: str) -> str:
    return f'{{"language_plan": "1.", "executable_plan": {plan}}}'


PLANS = {
    "the requested form": JSON,
    "indented": json.dumps(WHOLE, indent=4),
    "code fence": f"```json\n{JSON}\n```",
    "code fence without language": f"```\n{JSON}\n```",
    "code fence in capitals": f"```JSON\n{JSON}\n```",
    "words before": f"Sure, here is the plan:\n{JSON}",
    "words behind": f"{JSON}\nGood luck!",
    "words with brackets before": f"Object [1] is left of {{object}} 2. {JSON}",
    "words and a fence": f"I see it.\n```json\n{JSON}\n```\nDone.",
    "thoughts before": f"<think>maybe [1, 2, 3, 4, 5, 6, 1]?</think>{JSON}",
    "byte order mark": f"\ufeff{JSON}",
    "nested under properties": json.dumps({"properties": WHOLE}),
    "schema echoed around it": json.dumps({"type": "object", "properties": WHOLE}),
    "other keys": json.dumps({"confidence": 0.9} | WHOLE),
    "keys in capitals": json.dumps({"Executable_Plan": [str(A), str(B)]}),
    "key with a blank": json.dumps({"executable plan": [str(A), str(B)]}),
    "key with a hyphen": json.dumps({"executable-plan": [A, B]}),
    "list of lists": planned([A, B]),
    "list of texts": planned([str(A), str(B)]),
    "list of mappings with lists": planned([{"action": A}, {"action": B}]),
    "actions with further keys": planned([{"action_id": 3, "action": A}, {"action_id": 4, "action": B}]),
    "action key in capitals": planned([{"Action": A}, {"Action": B}]),
    "text of a list of lists": planned(f"[{A}, {B}]"),
    "text of a tuple of lists": planned(f"({A}, {B})"),
    "text of lists by commas": planned(f"{A}, {B}"),
    "text of mappings": planned(str([{"action": str(A)}, {"action": str(B)}])),
    "text of JSON": planned(json.dumps([{"action": A}, {"action": B}])),
    "action in two brackets": planned([[A], [B]]),
    "action text without brackets": planned([str(A)[1:-1], str(B)[1:-1]]),
    "action text with round brackets": planned([str(tuple(A)), str(tuple(B))]),
    "numbers as texts": planned([list(map(str, A)), list(map(str, B))]),
    "whole floats": planned([list(map(float, A)), list(map(float, B))]),
    "gripper as a fraction": planned([[*A[:6], 0.9], [*B[:6], 0.1]]),
    "python literal": str(WHOLE),
    "python literal with tuples": str(TEXTS | {"executable_plan": (tuple(A), tuple(B))}),
    "trailing comma": raw(f"[{A}, {B},]"),
    "trailing comma in the object": f'{{"executable_plan": [{A}, {B}],}}',
    "typographic quotes": raw(f"[{A}, {B}]").replace('"', "\u201c"),
    "line break in a text": JSON.replace("a cube", "a\ncube"),
    "plan alone": json.dumps([{"action": str(A)}, {"action": str(B)}]),
    "bare list of lists": f"{[A, B]}",
    "JSON twice": f"{JSON}\n{JSON}",
    "an empty object before": f"{{}} {JSON}",
}
ONE_ACTION = {
    "one flat list": planned(A),
    "one flat list alone": str(A),
    "one flat text": planned(str(A)),
    "one mapping": planned({"action": A}),
    "one mapping with text": planned({"action": str(A)}),
}
ERRORS = {
    "nothing": ("", FormatError.EMPTY),
    "blanks": (" \n\t ", FormatError.EMPTY),
    "a refusal": ("I cannot help with robots.", FormatError.NO_JSON),
    "far too long": ("[" * 300_000, FormatError.TOO_LONG),
    "brackets only": ("[" * 90_000, FormatError.CUT_JSON),
    "cut in a text": (JSON[:60], FormatError.CUT_JSON),
    "cut in the plan": (JSON[:-12], FormatError.CUT_JSON),
    "cut behind the first action": (planned([A, B])[:-20], FormatError.CUT_JSON),
    "cut bare list": (f"{[A, B]}"[:-3], FormatError.CUT_JSON),
    "not even JSON": ("{plan}", FormatError.NO_JSON),
    "no plan": (json.dumps(TEXTS), FormatError.NO_PLAN),
    "plan under another name": (json.dumps({"plan": [A]}), FormatError.NO_PLAN),
    "null": (planned(None), FormatError.NOT_A_LIST),
    "a number": (planned(7), FormatError.NOT_A_LIST),
    "words as plan": (planned("move to the cube"), FormatError.NOT_A_LIST),
    "words as action": (planned(["move left"]), FormatError.NOT_A_NUMBER),
    "null as action": (planned([None]), FormatError.NO_ACTION),
    "mapping without action": (planned([{"act": A}]), FormatError.NO_ACTION),
    "one step without action": (planned([{"action": A}, {"step": 2}]), FormatError.NO_ACTION),
    "six numbers": (planned([A[:6]]), FormatError.WRONG_COUNT),
    "eight numbers": (planned([[*A, 1]]), FormatError.WRONG_COUNT),
    "no numbers": (planned([[]]), FormatError.WRONG_COUNT),
    "a word in an action": (planned([[*A[:6], "open"]]), FormatError.NOT_A_NUMBER),
    "a truth value": (planned([[*A[:6], True]]), FormatError.NOT_A_NUMBER),
    "null in an action": (planned([[*A[:6], None]]), FormatError.NOT_A_NUMBER),
    "a list in an action": (planned([[*A[:6], [1]]]), FormatError.NOT_A_NUMBER),
    "NaN": (raw("[[1, 2, NaN, 4, 5, 6, 1]]"), FormatError.NOT_FINITE),
    "infinite": (raw("[[1, 2, 1e999, 4, 5, 6, 1]]"), FormatError.NOT_FINITE),
    "fractions": (planned([[54.5, *A[1:]]]), FormatError.NOT_WHOLE),
}


@pytest.mark.parametrize("text", PLANS.values(), ids=PLANS)
def test_a_plan_is_read(text: str) -> None:
    assert [list(action.numbers) for action in parse_answer(text).actions] == list(TWO)


@pytest.mark.parametrize("text", ONE_ACTION.values(), ids=ONE_ACTION)
def test_a_single_action_is_a_plan(text: str) -> None:
    assert [list(action.numbers) for action in parse_answer(text).actions] == [A]


@pytest.mark.parametrize(("text", "kind"), ERRORS.values(), ids=ERRORS)
def test_what_is_no_plan_has_a_name(text: str, kind: FormatError) -> None:
    with pytest.raises(AnswerError) as error:
        parse_answer(text)
    assert error.value.kind is kind


def test_the_table_is_as_long_as_promised_and_meets_every_error() -> None:
    assert len(PLANS) + len(ONE_ACTION) + len(ERRORS) >= 60
    assert {kind for _, kind in ERRORS.values()} == set(FormatError)


@pytest.mark.parametrize("plan", [[], "", "[]", ()])
def test_an_empty_plan_is_a_plan(plan: object) -> None:
    assert parse_answer(planned(plan)).actions == ()


def test_numbers_out_of_range_are_kept_for_the_environment() -> None:
    (action,) = parse_answer(planned([[100, -1, 10**30, 120, 60, 30, 1]])).actions
    assert action.numbers[:2] == (100, -1)
    assert action.range_fault


def test_texts_are_kept_and_may_be_missing() -> None:
    assert parse_answer(JSON).reasoning == "it's left"
    assert parse_answer(str([A])) == Plan((GridAction(*A),))


def test_what_the_offline_planners_write_fits_the_schema() -> None:
    plan = (GridAction(*A), GridAction(*B))
    tree = json.loads(plan_text(plan, seen=""))
    schema = json.loads(schema_text(PromptOptions()))
    assert list(tree) == schema["required"]
    assert parse_answer(json.dumps(tree)).actions == plan


def test_ten_thousand_damaged_answers_are_plans_or_named_errors() -> None:
    rng = random.Random(7)
    texts = [
        *PLANS.values(),
        *ONE_ACTION.values(),
        *(text for text, _ in ERRORS.values() if len(text) < 2000),
    ]
    signs = "[]{}\"',:0123456789.-eE \n\\`NaInf\x00\u201c\ud800"
    plans, errors = 0, set[FormatError]()
    for _ in range(10_000):
        text = list(rng.choice(texts))
        for _ in range(rng.randrange(1, 6)):
            place = rng.randrange(len(text) + 1)
            match rng.randrange(4):
                case 0:
                    text[place:place] = rng.choice(signs)
                case 1:
                    del text[place : place + rng.randrange(1, 40)]
                case 2:
                    text[place : place + 1] = rng.choice(signs)
                case _:
                    text[place:place] = text[rng.randrange(len(text) + 1) :][:50]
        try:
            plan = parse_answer("".join(text))
        except AnswerError as error:
            errors.add(error.kind)
        else:
            plans += 1
            assert all(type(number) is int for action in plan.actions for number in action.numbers)
    assert 1000 < plans < 9000
    assert len(errors) >= 8
