"""The Foxglove layout names only topics and fields that a recording has."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rosbags.interfaces import Nodetype

import embodied_iqa
from embodied_iqa.base.resources import shared_file
from embodied_iqa.data.recording.messages import TypeStore
from embodied_iqa.quality.gate.image_statistics import Statistic
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

TABLE = Path(embodied_iqa.__file__).parent / "live" / "ros" / "recorded_topics.py"
PANELS = {"Image", "3D", "Plot", "StateTransitions", "RawMessages", "Tab"}
SERIES = re.compile(
    r'(?P<topic>/[\w/]+)(?:\{(?P<filter>\w+)=="(?P<word>\w+)"\})?'
    r'(?:\.(?P<list>\w+)\[:\]\{(?P<key>\w+)=="(?P<name>\w+)"\})?(?P<fields>(?:\.\w+)+)'
)


@cache
def _layout() -> dict[str, Any]:
    return dict(json.loads(shared_file("config/foxglove/trial.json").read_text(encoding="utf-8")))


def _panels(kind: str) -> list[dict[str, Any]]:
    return [panel for name, panel in _layout()["configById"].items() if name.split("!")[0] == kind]


@cache
def _recorded() -> dict[str, str]:
    """Topic to type, as the recorder's own table says: its source is read, for it needs ROS to run."""
    tree = ast.parse(TABLE.read_text(encoding="utf-8"))
    packages = {
        name.asname or name.name: (item.module or "").partition(".")[0]
        for item in ast.walk(tree)
        if isinstance(item, ast.ImportFrom)
        for name in item.names
    }
    found: dict[str, str] = {}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "RecordedTopic":
            topic, kind = ast.unparse(call.args[0]).removeprefix("f").strip("'\""), call.args[1]
            name = kind.attr if isinstance(kind, ast.Attribute) else ast.unparse(kind)
            owner = ast.unparse(kind.value) if isinstance(kind, ast.Attribute) else name
            for view in CELL_VIEWS:
                found[topic.replace("{view}", view)] = f"{packages[owner]}/msg/{name}"
    return found


@cache
def _types() -> TypeStore:
    return TypeStore()


def _field(type_name: str, field: str) -> tuple[Any, Any]:
    """Kind and detail of a message's field, as rosbags describes it."""
    _types().message_class(type_name)
    described = dict(_types()._store.fielddefs[type_name][1])
    assert field in described, f"{type_name} has no field {field}; it has {sorted(described)}"
    return described[field]


def _series() -> Iterator[str]:
    for panel in _panels("Plot") + _panels("StateTransitions"):
        for path in panel["paths"]:
            yield path["value"]


def test_the_recorders_table_was_read() -> None:
    assert _recorded()["/gate/quality"] == "embodied_iqa_msgs/msg/ImageQuality"
    assert _recorded()["/camera/top/image_raw"] == "sensor_msgs/msg/Image"
    assert _recorded()["/arm/tool_pose"] == "geometry_msgs/msg/PoseStamped"


def test_it_is_a_whole_layout() -> None:
    layout = _layout()
    assert set(layout) == {"configById", "globalVariables", "userNodes", "playbackConfig", "layout"}
    assert {name.split("!")[0] for name in layout["configById"]} == PANELS
    assert all(re.fullmatch(r"\w+!\w+", name) for name in layout["configById"])


def test_every_panel_has_one_place() -> None:
    placed: list[str] = []

    def walk(node: Any) -> None:
        if isinstance(node, str):
            placed.append(node)
            for tab in _layout()["configById"][node].get("tabs", []):
                walk(tab["layout"])
            return
        assert set(node) == {"direction", "first", "second", "splitPercentage"}
        assert node["direction"] in {"row", "column"}
        assert 0 < node["splitPercentage"] < 100
        walk(node["first"])
        walk(node["second"])

    walk(_layout()["layout"])
    assert sorted(placed) == sorted(_layout()["configById"])


@pytest.mark.parametrize("path", sorted(set(_series())))
def test_series_are_numbers_or_words_of_a_recorded_topic(path: str) -> None:
    match = SERIES.fullmatch(path)
    assert match is not None
    type_name = _recorded()[match["topic"]]
    if match["filter"]:
        assert _field(type_name, match["filter"]) == (Nodetype.BASE, ("string", 0))
        assert match["word"] in CELL_VIEWS
    if match["list"]:
        assert match["name"] in set(Statistic)
        node, (inner, _) = _field(type_name, match["list"])
        assert (node, inner[0]) == (Nodetype.SEQUENCE, Nodetype.NAME)
        type_name = inner[1]
        assert _field(type_name, match["key"]) == (Nodetype.BASE, ("string", 0))
    *parents, last = match["fields"][1:].split(".")
    for parent in parents:
        node, type_name = _field(type_name, parent)
        assert node == Nodetype.NAME
    assert _field(type_name, last)[0] == Nodetype.BASE


def test_numbers_are_plotted() -> None:
    words = [path for path in _series() if path.rpartition(".")[2] in {"reason", "stage", "id"}]
    plotted = {path["value"] for panel in _panels("Plot") for path in panel["paths"]}
    assert not plotted & set(words)


def test_images_and_their_models_are_recorded() -> None:
    shown = set()
    for panel in _panels("Image"):
        mode = panel["imageMode"]
        shown.add(mode["imageTopic"])
        assert _recorded()[mode["imageTopic"]].split("/")[2] in {"Image", "CompressedImage"}
        assert _recorded()[mode["calibrationTopic"]] == "sensor_msgs/msg/CameraInfo"
    assert shown == {
        topic
        for view in ("top", "wrist")
        for topic in (f"/camera/{view}/image_raw", f"/distorted/{view}/preview/compressed")
    }


def test_other_topics_are_recorded() -> None:
    topics = [panel["topicPath"] for panel in _panels("RawMessages")]
    topics += [topic for panel in _panels("3D") for topic in panel["topics"]]
    assert {"/trial/events", "/arm/tool_pose"} <= set(topics)
    assert set(topics) <= set(_recorded())


def test_the_gate_and_the_arm_are_shown() -> None:
    series = set(_series())
    for view in ("top", "wrist"):
        assert f'/gate/quality{{view=="{view}"}}.verdict' in series
        assert f'/gate/lease{{view=="{view}"}}.verdict' in series
    assert "/arm/status.state" in series
