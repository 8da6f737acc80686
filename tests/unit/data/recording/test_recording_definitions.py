"""Definitions: complete, understood by others, with the hashes that ROS itself has."""

from __future__ import annotations

from pathlib import Path

import pytest
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.recording.definitions import MessageDefinitions, default_sources
from embodied_iqa.data.recording.messages import TypeStore

SOURCE = Path(__file__).parents[4] / "msg"
OURS = sorted(file.stem for file in (SOURCE / "msg").glob("*.msg"))
JAZZY = get_typestore(Stores.ROS2_JAZZY)
WITHOUT_ROS = MessageDefinitions(prefixes=(), sources=(SOURCE,))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package installed below a prefix."""
    folder = tmp_path / "share" / "some_msgs" / "msg"
    folder.mkdir(parents=True)
    (folder / "Inner.msg").write_text("float64 x  # metres\n")
    (folder / "Outer.msg").write_text(
        "# A comment with Inner in it\nuint8 KIND=1\nstring<=10 NAME=a#b\n"
        "Header header\nInner[<=3] many\nInner one\nsome_msgs/Inner[2] two\nstring<=5[] words\n"
    )
    (folder / "Broken.msg").write_text("Missing field\n")
    return tmp_path


def test_own_interfaces_are_found_in_the_checkout() -> None:
    assert default_sources() == (SOURCE,)
    assert len(OURS) > 5


@pytest.mark.parametrize("name", OURS)
def test_full_text_holds_every_type_that_is_needed(name: str) -> None:
    text = WITHOUT_ROS.full_text(f"embodied_iqa_msgs/msg/{name}")
    known = get_types_from_msg(text, f"embodied_iqa_msgs/msg/{name}")
    for _, fields in known.values():
        for _, (node, detail) in fields:
            is_list = node in {Nodetype.ARRAY, Nodetype.SEQUENCE}
            element, of = detail[0] if is_list else (node, detail)
            assert element == Nodetype.BASE or of in known


@pytest.mark.parametrize(
    "type_name", ["sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo", "tf2_msgs/msg/TFMessage"]
)
def test_hashes_are_those_of_jazzy(type_name: str) -> None:
    for definitions in (MessageDefinitions(), WITHOUT_ROS):
        assert TypeStore(definitions).type_hash(type_name) == JAZZY.hash_rihs01(type_name)


def test_installed_and_source_definitions_say_the_same() -> None:
    for name in OURS:
        type_name = f"embodied_iqa_msgs/msg/{name}"
        assert TypeStore(WITHOUT_ROS).type_hash(type_name) == TypeStore().type_hash(type_name)


def test_text_is_concatenated_once_each(package: Path) -> None:
    text = MessageDefinitions(prefixes=(package,), sources=()).full_text("some_msgs/msg/Outer")
    assert text.startswith("# A comment")
    sections = text.split("=" * 80 + "\n")
    assert [section.splitlines()[0] for section in sections[1:]] == [
        "MSG: std_msgs/Header",
        "MSG: some_msgs/Inner",
        "MSG: builtin_interfaces/Time",
    ]


def test_first_prefix_wins(package: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    overlay = tmp_path_factory.mktemp("overlay")
    folder = overlay / "share" / "some_msgs" / "msg"
    folder.mkdir(parents=True)
    (folder / "Inner.msg").write_text("int8 y\n")
    definitions = MessageDefinitions(prefixes=(overlay, package), sources=())
    assert definitions.full_text("some_msgs/msg/Inner") == "int8 y\n"


def test_prefixes_come_from_the_sourced_environment(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{package}")
    assert "float64 x" in MessageDefinitions().full_text("some_msgs/Inner")


@pytest.mark.parametrize(
    ("type_name", "message"),
    [
        ("some_msgs/msg/Nope", "available: Broken, Inner, Outer"),
        ("some_msgs/msg/Broken", r"some_msgs/msg/Missing \(needed by some_msgs/Broken\)"),
        ("no_msgs/msg/X", "expected package no_msgs on AMENT_PREFIX_PATH"),
        ("Image", "expected package/msg/Name; got 'Image'"),
        ("a/srv/B", "expected package/msg/Name"),
        ("a//B", "expected package/msg/Name"),
    ],
)
def test_missing_definitions_are_told(package: Path, type_name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        MessageDefinitions(prefixes=(package,), sources=()).full_text(type_name)
