"""Made items: an independent solver with the true state finds exactly one right option in each.

With `EMBODIED_IQA_STATIC_ITEMS=10000` in the environment it solves 10,000.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from functools import cache, partial

import numpy as np
import pytest
from scipy.stats import chisquare

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.suites.static_benchmark.items import Dimension, Person
from embodied_iqa.suites.static_benchmark.making.draft import Cut, Draft
from embodied_iqa.suites.static_benchmark.making.drafts import draw_draft, slots_of
from embodied_iqa.world.manipulation.shapes import DRAWER_HANDLE_AHEAD_M
from embodied_iqa.world.scenes.scene import Scene, SceneObject, find_destination, find_object
from embodied_iqa.world.scenes.viewpoints import viewpoint_of
from embodied_iqa.world.tasks.instruction import Instruction
from embodied_iqa.world.tasks.vocabulary import Verb

COUNT = int(os.environ.get("EMBODIED_IQA_STATIC_ITEMS", "90"))
SEED = 77
pytestmark = pytest.mark.timeout(max(900, COUNT))


@cache
def drafts() -> tuple[Draft, ...]:
    return tuple(draw_draft(slot, SEED, index) for index, slot in enumerate(slots_of(COUNT, SEED)))


# --- the solver: true state and text only, nothing of the code that makes items


def _ground(item: SceneObject, view: View) -> tuple[float, float]:
    """Return how far right and how far ahead an object is for the viewer (m)."""
    place, eye = np.array([item.x_m, item.y_m]), viewpoint_of(view)
    return float(place @ eye.right), float(place @ eye.ahead)


def _named(scene: Scene, words: str) -> SceneObject:
    """Return the only object that a name fits."""
    rest = words.removeprefix("the ")
    wanted = set(rest.split()) - {"marked", "object"}
    found = [item for item in scene.objects if wanted <= set(str(item.thing).split())]
    assert len(found) == 1, (words, [str(item.thing) for item in scene.objects])
    return found[0]


def _distance(one: SceneObject, two: SceneObject) -> float:
    return float(np.hypot(one.x_m - two.x_m, one.y_m - two.y_m))


_ABLE = {
    "put on a pot": {"lid"},
    "inserted": {"peg"},
    "poured": {"cup"},
    "pressed": {"button"},
    "pulled": {"drawer"},
    "twisted": {"knob"},
}


def micro_right(draft: Draft, option: str) -> bool:
    """Return whether an option answers a question about the first frame."""
    scene, question = draft.scene, draft.question
    if match := re.fullmatch(r"What is the (\w+) object\?", question):
        return [str(item.kind) for item in scene.objects if item.colour == match[1]] == [option]
    if match := re.fullmatch(r"Which colour is the (\w+)\?", question):
        return [str(item.colour) for item in scene.objects if item.kind == match[1]] == [option]
    if match := re.fullmatch(r"How many (.+) are on the table\?", question):
        toys, dishes = {"cube", "cylinder", "ball"}, {"bowl", "cup", "pot", "lid"}
        first = match[1].split()[0]
        kinds = {"toys": toys, "dishes": dishes}.get(first, {first.removesuffix("s")})
        return sum(item.kind in kinds for item in scene.objects) == int(option)
    chosen = _named(scene, option)
    if match := re.fullmatch(r"Which of these objects can be (.+)\?", question):
        return str(chosen.kind) in next(kinds for words, kinds in _ABLE.items() if match[1].startswith(words))
    if match := re.fullmatch(r"Which object on the table is nearest to the (.+)\?", question):
        anchor = _named(scene, match[1])
        near = min((item for item in scene.objects if item is not anchor), key=partial(_distance, anchor))
        return near is chosen
    match = re.fullmatch(r"Which object is (.+), seen from this camera\?", question)
    assert match is not None, question
    return _is_placed(draft, chosen, match[1])


def _is_placed(draft: Draft, chosen: SceneObject, words: str) -> bool:
    """Return whether an object is where the words say."""
    places = {id(item): _ground(item, draft.view) for item in draft.scene.objects}
    right, ahead = places.pop(id(chosen))
    extremes = {
        "furthest to the left": all(right < other for other, _ in places.values()),
        "furthest to the right": all(right > other for other, _ in places.values()),
        "nearest to the viewer": all(ahead < other for _, other in places.values()),
        "farthest from the viewer": all(ahead > other for _, other in places.values()),
    }
    if words in extremes:
        return extremes[words]
    side, _, name = words.partition(" the ") if words.startswith(("in", "behind")) else _aside(words)
    anchor_right, anchor_ahead = _ground(_named(draft.scene, name), draft.view)
    return {
        "to the left of": right < anchor_right,
        "to the right of": right > anchor_right,
        "in front of": ahead < anchor_ahead,
        "behind": ahead > anchor_ahead,
    }[side]


def _aside(words: str) -> tuple[str, str, str]:
    side = " ".join(words.split()[:4])
    return side, "", words.removeprefix(f"{side} the ")


_TASK = re.compile(
    r'The task of the robot is: "From (?P<order>[a-z ]+), (?P<verb>push|place in the|move to the)'
    r'(?: (?P<goal>.+))? every toy that is (?P<side>.+) than the (?P<anchor>.+)\." Toys are .+'
)
_ALONG = {
    "left to right": (0, 1.0),
    "right to left": (0, -1.0),
    "near to far": (1, 1.0),
    "far to near": (1, -1.0),
}
_BEYOND = {
    "further to the left": (0, -1.0),
    "further to the right": (0, 1.0),
    "nearer to the viewer": (1, -1.0),
    "farther from the viewer": (1, 1.0),
}
_STEP = {
    "push": "push the (.+)",
    "place in the": "place the (.+) in the {goal}",
    "move to the": "move the (.+) to the {goal}",
}


def macro_right(draft: Draft, option: str) -> bool:
    """Return whether a plan handles the toys that the task means, in its order."""
    found = _TASK.fullmatch(draft.question)
    assert found is not None, draft.question
    scene, places = draft.scene, {id(item): _ground(item, draft.view) for item in draft.scene.objects}
    anchor = _named(scene, found["anchor"])
    if found["goal"]:
        _named(scene, found["goal"])
    axis, sign = _BEYOND[found["side"]]
    toys = [item for item in scene.objects if item.kind in {"cube", "cylinder", "ball"}]
    meant = [item for item in toys if sign * (places[id(item)][axis] - places[id(anchor)][axis]) > 0.0]
    axis, sign = _ALONG[found["order"]]
    meant.sort(key=lambda item: sign * places[id(item)][axis])
    step = _STEP[found["verb"]].format(goal=found["goal"])
    steps = [re.fullmatch(step, words) for words in option.split("; then ")]
    assert all(steps), option
    return [_named(scene, one[1]) for one in steps if one] == meant


def stage_now(scene: Scene, cut: Cut) -> str:
    """Return the first word of the step that the tool's place, the gripper and the task allow."""
    task, (x, y, z) = cut.instruction, cut.T_base_tool[:3, 3]
    source = scene.objects[find_object(scene, task)]
    goal = find_destination(scene, task)
    ahead_m = DRAWER_HANDLE_AHEAD_M if task.verb is Verb.PULL else 0.0
    off_m = float(np.hypot(x - source.x_m - ahead_m, y - source.y_m))
    closed = cut.gripper > 0.99
    if task.verb is Verb.PUSH:
        return _push_now(source, float(x), float(z), cut)
    if goal is None and task.verb is Verb.PULL:
        return "pulling" if closed else ("rising" if off_m > 0.07 else "fetching")
    assert goal is not None, task
    end = scene.objects[goal]
    away_m = float(np.hypot(x - end.x_m, y - end.y_m))
    tilted = cut.T_base_tool[2, 2] > -0.999
    if off_m < 1e-3:
        return "lifting" if closed else "fetching"
    if task.verb is Verb.POUR:
        return "tilting" if tilted else "carrying"
    if away_m < 1e-3:
        return "lowering" if closed else "rising"
    return "carrying" if closed else "fetching"


def _push_now(source: SceneObject, x: float, z: float, cut: Cut) -> str:
    """The gripper opens for the way back; the way out leads away from the robot (-x)."""
    before = x > source.x_m + source.shape.radius_m + 0.01
    low = z < 0.03 and z <= source.shape.height_m / 2 + 1e-6
    if not low:
        return "fetching" if before else "rising"
    narrow = cut.gripper > 1.0 - 0.5 * source.shape.width_m / 0.14
    return "pushing" if narrow else "backing"


_SEQUENCE = {
    "carry": ("above", "to", "closing", "lifting", "carrying", "lowering", "releasing", "up"),
    "pour": ("above", "to", "closing", "lifting", "carrying", "tilting"),
    "push": ("above", "beside", "pushing", "backing", "up"),
    "pull": ("above", "to", "closing", "pulling", "opening", "up"),
}


def _step_of(option: str, task: Instruction) -> str:
    """Return the step of `_SEQUENCE` that an option describes."""
    if option.startswith("moving"):
        return "up" if re.search(" up,? (away )?from ", option) else "above"
    if option.startswith("lowering"):
        if " gripper beside " in option:
            return "beside"
        return "to" if " open gripper to " in option else "lowering"
    return option.split(maxsplit=1)[0]


def _sequence(verb: Verb) -> tuple[str, ...]:
    return _SEQUENCE[{Verb.POUR: "pour", Verb.PUSH: "push", Verb.PULL: "pull"}.get(verb, "carry")]


def _handled(task: str) -> str:
    """Return the object of a task in words."""
    found = re.fullmatch("[a-z]+ the (.+?)(?: (?:in|into|to) the .+)?", task)
    covered = re.fullmatch("cover the .+ with the (.+)", task)
    assert found is not None
    return covered[1] if covered else found[1]


def stage_right(draft: Draft, option: str) -> bool:
    """Return whether an option is the step under way, or the one behind it."""
    cut = draft.cut
    assert cut is not None
    task, steps = cut.instruction, _sequence(cut.instruction.verb)
    tasks = re.findall('"([^"]+)"', draft.question)
    assert len(set(tasks)) == 2
    assert str(task) in tasks
    found = _step_of(option, task)
    handled, other = str(task.object), next(words for words in tasks if words != str(task))
    if handled not in option or option.index(handled) > option.find(_handled(other)) >= 0:
        assert _handled(other) in option
        return False
    assert found in steps
    now = stage_now(draft.scene, cut)
    if now == "fetching":
        source = draft.scene.objects[find_object(draft.scene, task)]
        x = source.x_m + (DRAWER_HANDLE_AHEAD_M if task.verb is Verb.PULL else 0.0)
        straight = abs(cut.T_base_tool[1, 3] - source.y_m) < 1e-6
        above = straight and (abs(cut.T_base_tool[0, 3] - x) < 1e-6 or task.verb is Verb.PUSH)
        now = ("beside" if task.verb is Verb.PUSH else "to") if above else "above"
    now = "up" if now == "rising" else now
    wanted = steps[steps.index(now) + 1] if "next" in draft.question else now
    return found == wanted


SOLVERS = {Dimension.MACRO: macro_right, Dimension.MICRO: micro_right, Dimension.STAGE: stage_right}


def test_every_item_has_exactly_one_right_option() -> None:
    for index, draft in enumerate(drafts()):
        item = draft.item(index)
        right = [
            letter
            for letter, text in zip(item.letters, item.options, strict=True)
            if SOLVERS[draft.dimension](draft, text)
        ]
        assert right == [item.answer], (index, draft.question, item.options, item.answer, right)


def test_answers_are_uniform_over_the_letters() -> None:
    counts = Counter(draft.place for draft in drafts())
    assert chisquare([counts[place] for place in range(4)]).pvalue > 0.001


def test_proportions_are_the_published_ones() -> None:
    slots = slots_of(1000, 3)
    assert Counter(slot.dimension for slot in slots) == {
        Dimension.MACRO: 150,
        Dimension.MICRO: 150,
        Dimension.STAGE: 700,
    }
    assert sum(slot.view == View.WRIST for slot in slots) == 384
    small = slots_of(200, 3)
    assert Counter(slot.dimension for slot in small)[Dimension.STAGE] == 140
    assert sum(slot.view == View.WRIST for slot in small) == 77


def test_the_same_seed_gives_the_same_items_and_another_one_others() -> None:
    slots = slots_of(COUNT, SEED)
    for index in (0, 1, COUNT - 1):
        again = draw_draft(slots[index], SEED, index)
        assert again.item(index) == drafts()[index].item(index)
        assert draw_draft(slots[index], SEED + 1, index).item(index) != again.item(index)
    person = Person.FIRST if slots[0].view == View.WRIST else Person.THIRD
    assert drafts()[0].item(0).person is person


def test_the_cut_is_off_both_ends_of_its_step() -> None:
    cuts = [draft.cut for draft in drafts()[:30] if draft.cut is not None]
    assert cuts
    for cut in cuts:
        assert 0.2 <= cut.part <= 0.8, cut
        assert 0.0 <= cut.gripper <= 1.0, cut
