"""Scenes with the same words: objects change places or kinds, so that another option becomes the right one.

An item is exchangeable where each of its options is right in one of several scenes that all fit its text, and
the scene is drawn last, with equal chances: the text alone then says nothing about the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.suites.static_benchmark.making.draft import NoItemError
from embodied_iqa.world.scenes.clutter import draw_clutter
from embodied_iqa.world.scenes.places import OBJECTS_X_M, OBJECTS_Y_M, draw_yaw, has_room
from embodied_iqa.world.scenes.scene import Scene, SceneObject
from embodied_iqa.world.scenes.scene_graph import SceneGraph
from embodied_iqa.world.scenes.viewpoints import viewpoint_of
from embodied_iqa.world.tasks.instruction import Thing
from embodied_iqa.world.tasks.vocabulary import MARKED_KINDS, SIZED_KINDS, Kind

FIXED: Final = (Kind.DRAWER,)
"""Kinds that keep their place: a drawer opens towards the robot, and stands far from it."""

_TRIES: Final = 30
"""Places that are tried for each object."""
Answer = Callable[[SceneGraph], int | None]
"""Returns the index of the object that answers a question in a scene; None where it has no clear answer."""


def rearranged(scene: Scene, indices: Sequence[int], order: Sequence[int]) -> Scene | None:
    """Return the scene with some of its objects at each other's places; None where they have no room.

    Args:
        scene: What is on the table.
        indices: Of the objects that move.
        order: Object ``indices[k]`` moves to the place of object ``indices[order[k]]``.
    """
    objects = list(scene.objects)
    for index, place in zip(indices, order, strict=True):
        at = scene.objects[indices[place]]
        objects[index] = replace(objects[index], x_m=at.x_m, y_m=at.y_m)
    return _with_objects(scene, objects)


def scattered(rng: np.random.Generator, scene: Scene, view: View) -> Scene:
    """Return the scene with all of its objects at new places that a camera shows.

    Raises:
        NoItemError: They have no room there.
    """
    viewpoint = viewpoint_of(view)
    standing: list[tuple[Thing, tuple[float, float]]] = []
    for item in scene.objects:
        for _ in range(_TRIES):
            place = float(rng.uniform(*OBJECTS_X_M)), float(rng.uniform(*OBJECTS_Y_M))
            if not has_room(item.thing, place, standing):
                continue
            middle_m = np.array([[*place, item.shape.height_m / 2]])
            if viewpoint.shows(*viewpoint.project(middle_m)[0].tolist()):
                standing.append((item.thing, place))
                break
        else:
            raise NoItemError
    placed = zip(scene.objects, standing, strict=True)
    return replace(scene, objects=tuple(replace(item, x_m=x, y_m=y) for item, (_, (x, y)) in placed))


def with_kinds(rng: np.random.Generator, scene: Scene, kinds: Mapping[int, Kind]) -> Scene | None:
    """Return the scene with other kinds of some objects; None where they have no room.

    Args:
        rng: Draws how the objects are turned.
        scene: What is on the table.
        kinds: Index of an object to its kind.
    """
    objects = list(scene.objects)
    for index, kind in kinds.items():
        objects[index] = _of_kind(rng, objects[index], kind)
    return _with_objects(scene, objects)


def equally_right(
    rng: np.random.Generator, scene: Scene, view: View, offered: Sequence[int], answer: Answer
) -> tuple[int, Scene]:
    """Move the offered objects around in a ring and draw one of these scenes.

    Args:
        rng: Draws the scene.
        scene: What is on the table.
        view: The camera of the question.
        offered: Indices of the objects that the options name.
        answer: Answers the question.

    Returns:
        Index of the right object, and the scene in which it is right.

    Raises:
        NoItemError: Not every offered object is right in one of the scenes.
    """
    found: dict[int, Scene] = {}
    for turn in range(len(offered)):
        order = [(place + turn) % len(offered) for place in range(len(offered))]
        turned = rearranged(scene, offered, order)
        right = None if turned is None else answer(SceneGraph(turned, view))
        if turned is None or right is None or right not in offered:
            raise NoItemError
        found[right] = turned
    if len(found) < len(offered):
        raise NoItemError
    right = offered[int(rng.integers(len(offered)))]
    return right, with_clutter(rng, found[right])


def with_clutter(rng: np.random.Generator, scene: Scene) -> Scene:
    """Return the scene with flat things drawn anew around its objects."""
    circles = [(item.x_m, item.y_m, item.shape.radius_m) for item in scene.objects]
    return replace(scene, clutter=draw_clutter(rng, circles))


def _with_objects(scene: Scene, objects: Sequence[SceneObject]) -> Scene | None:
    standing = [(item.thing, (item.x_m, item.y_m)) for item in objects]
    apart = all(has_room(*one, standing[:number]) for number, one in enumerate(standing))
    return replace(scene, objects=tuple(objects)) if apart else None


def _of_kind(rng: np.random.Generator, item: SceneObject, kind: Kind) -> SceneObject:
    mark = item.mark if kind in MARKED_KINDS else None
    size = item.size if kind in SIZED_KINDS else None
    return replace(item, kind=kind, yaw_rad=draw_yaw(rng, kind), mark=mark, size=size)
