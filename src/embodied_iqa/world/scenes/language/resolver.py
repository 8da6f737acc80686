"""Resolver: the meaning of a task in natural language in a scene; rejects ambiguous tasks."""

from __future__ import annotations

from collections.abc import Sequence

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.language.grammar import Described, Step, parse_task
from embodied_iqa.world.scenes.language.referring import head_of
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.scenes.scene_graph import Node, SceneGraph, Truth, unique_match
from embodied_iqa.world.tasks.instruction import Instruction, Thing, describe, first_possible
from embodied_iqa.world.tasks.vocabulary import VERB_WORDS


def resolve(text: str, scene: Scene, *, view: View = View.TOP) -> Instruction:
    """Return the first step of a task; see `resolve_plan`."""
    return resolve_plan(text, scene, view=view)[0]


def resolve_plan(text: str, scene: Scene, *, view: View = View.TOP) -> tuple[Instruction, ...]:
    """Return the steps of a task.

    Args:
        text: Such as "push the ball that is left of the green bowl" or "press the red button, then twist the
            blue knob".
        scene: What is on the table.
        view: The camera whose image defines left, right, in front of and behind.

    Raises:
        UsageError: The sentence cannot be parsed, does not match exactly one object or not clearly, or the
            objects do not afford the verb.
    """
    graph = SceneGraph(scene, view)
    plan: list[Instruction] = []
    for step in parse_task(text):
        plan.append(_instruction(step, graph, plan[-1].object if plan else None))
    return tuple(plan)


def _instruction(step: Step, graph: SceneGraph, before: Thing | None) -> Instruction:
    thing = _find(step.object, graph).thing if step.object is not None else before
    if thing is None:
        raise UsageError("a task begins with an object", expected="its kind", got="it")
    other = None if step.other is None else _find(step.other, graph).thing
    if step.reverses and other is not None:
        thing, other = other, thing
    return first_possible(VERB_WORDS[step.verb], thing, other)


def _find(described: Described, graph: SceneGraph) -> Node:
    """Return the only object that matches a description.

    Raises:
        UsageError: None or several match, or the match is unclear.
    """
    among = [node for node in graph.nodes if _has_attributes(described, node)]
    anchors = [_anchor(thing, graph) for thing in described.anchors]
    among = [node for node in among if node not in anchors]
    if described.extreme is not None:
        found = graph.extreme(described.extreme, among)
    elif described.nearest:
        found = graph.nearest_to(anchors[0], among)
    else:
        found = unique_match(among, [_relation(described, node, anchors, graph) for node in among])
    if found is None:
        raise UsageError(
            "a description does not fit exactly one object, or not clearly",
            got=_noun_of(described),
            available=[str(node.thing) for node in among] or ["nothing fits"],
        )
    return found


def _noun_of(described: Described) -> str:
    """Return the noun of a description, for messages."""
    head = described.head
    words = describe(head.kind or head.category or "object", head.colour, head.mark, head.size)
    return words if described.extreme is None else f"{described.extreme} {words}"


def _has_attributes(described: Described, node: Node) -> bool:
    excluded = node.colour in described.not_colours or node.kind in described.not_kinds
    return described.head.fits(node) and not excluded


def _anchor(thing: Thing, graph: SceneGraph) -> Node:
    return _find(Described(head_of(thing)), graph)


def _relation(described: Described, node: Node, anchors: Sequence[Node], graph: SceneGraph) -> Truth:
    if described.side is not None:
        return graph.is_at_side(node, described.side, anchors[0])
    return graph.is_between(node, anchors[0], anchors[1]) if described.between else Truth.YES
