"""Interface sources are generated once for all environments of a working copy; wrong ones are not reused."""

from __future__ import annotations

from pathlib import Path

import pytest

from workspace.interfaces import build_interfaces
from workspace.layout import Layout, SetupError
from workspace.ros_source import RosSource

GENERATED = (
    "rosidl_generator_type_description",
    "rosidl_generator_c",
    "rosidl_generator_py",
    "rosidl_typesupport_c",
    "rosidl_typesupport_fastrtps_c",
    "rosidl_typesupport_introspection_c",
)


class Cmake:
    """Stands for cmake: its generators write what is not there; a build can fail."""

    def __init__(self, layout: Layout) -> None:
        self._tree, self.generated, self.failures = layout.build / "interfaces", 0, 0
        layout.stamps.mkdir(parents=True, exist_ok=True)

    def __call__(self, words: list[str]) -> None:
        if words[1] == "--build" and self.failures:
            self.failures -= 1
            raise SetupError("failed")
        if words[1] == "--build" and not (self._tree / GENERATED[0]).exists():
            self.generated += 1
            for name in GENERATED:
                (self._tree / name).mkdir(parents=True)
        if words[1] == "--install":
            (self._tree / "install_manifest.txt").touch()


def build(layout: Layout, cmake: Cmake) -> None:
    build_interfaces(layout, RosSource.WHEELS, cmake, lambda: "digest")


def test_the_second_environment_generates_only_where_the_first_ones_sources_do_not_build(
    tmp_path: Path,
) -> None:
    first, second = Layout(tmp_path), Layout(tmp_path, ".venv-3.12")
    build(first, Cmake(first))
    cmake = Cmake(second)
    build(second, cmake)
    assert cmake.generated == 0
    cmake.failures = 1
    build(second, cmake)
    assert cmake.generated == 1, "what may be damaged is not used again"
    cmake.failures = 2
    with pytest.raises(SetupError):
        build(second, cmake)
    assert not any((second.generated / "interfaces").iterdir())


def test_what_a_killed_set_up_left_half_copied_is_not_used(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    (layout.generated / "interfaces" / "digest.new" / GENERATED[0]).mkdir(parents=True)
    cmake = Cmake(layout)
    build(layout, cmake)
    build(layout, cmake)
    assert cmake.generated == 1
    assert [folder.name for folder in (layout.generated / "interfaces").iterdir()] == ["digest"]


def test_sources_of_messages_that_change_during_a_build_are_not_kept(tmp_path: Path) -> None:
    layout, digests = Layout(tmp_path), iter(["before", "after"])
    build_interfaces(layout, RosSource.WHEELS, Cmake(layout), lambda: next(digests))
    assert not (layout.generated / "interfaces").exists()
