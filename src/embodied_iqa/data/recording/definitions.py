"""Message definitions: the text in a recording that describes its message types."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from rosbags.typesys import Stores, get_typestore

from embodied_iqa.base.errors import InputError

_SEPARATOR = "=" * 80
_FIELD = re.compile(
    r"^\s*([A-Za-z][A-Za-z0-9_]*(?:/[A-Za-z][A-Za-z0-9_/]*)?)(?:<=\d+)?(?:\[[^\]]*\])?\s+[A-Za-z]"
)
_PRIMITIVES = frozenset(
    {"bool", "byte", "char", "string", "wstring", "float32", "float64"}
    | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)


def default_prefixes() -> tuple[Path, ...]:
    """Return install prefixes: AMENT_PREFIX_PATH (a sourced ROS), then this Python's prefix."""
    listed = [Path(word) for word in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if word]
    return (*listed, Path(sys.prefix))


def default_sources() -> tuple[Path, ...]:
    """Return the interface package's folder in this source checkout; empty for an installed package."""
    folder = Path(__file__).resolve().parents[4] / "msg"
    return (folder,) if (folder / "package.xml").is_file() else ()


@cache
def _jazzy_names() -> frozenset[str]:
    return frozenset(get_typestore(Stores.ROS2_JAZZY).fielddefs)


def _jazzy_text(type_name: str) -> str:
    text, _ = get_typestore(Stores.ROS2_JAZZY).generate_msgdef(type_name, ros_version=2)
    return str(text).split(_SEPARATOR, maxsplit=1)[0]


def _split(type_name: str) -> tuple[str, str]:
    """Return package and name of ``pkg/msg/Name`` or ``pkg/Name``."""
    words = type_name.split("/")
    if len(words) not in {2, 3} or not all(words) or (len(words) == 3 and words[1] != "msg"):
        raise InputError("not the name of a message type", expected="package/msg/Name", got=type_name)
    return words[0], words[-1]


def _dependencies(package: str, text: str) -> list[str]:
    """Return the types (``pkg/Name``) of a definition's fields, in order of appearance."""
    found: dict[str, None] = {}
    for line in text.splitlines():
        match = _FIELD.match(line)
        if match is None or match[1] in _PRIMITIVES:
            continue
        words = match[1].split("/")
        owner = words[0] if len(words) > 1 else ("std_msgs" if words[0] == "Header" else package)
        found[f"{owner}/{words[-1]}"] = None
    return list(found)


class MessageDefinitions:
    """Definitions of message types.

    Searched in this order: the installed packages below each prefix (``share/<package>/msg``), source folders
    of interface packages (``<folder>/package.xml`` beside ``<folder>/msg``), and the Jazzy definitions of the
    rosbags library, for standard types on a machine without ROS.

    Args:
        prefixes: Install prefixes; None for `default_prefixes`.
        sources: Source folders of interface packages; None for `default_sources`.
    """

    def __init__(self, prefixes: Sequence[Path] | None = None, sources: Sequence[Path] | None = None) -> None:
        self._prefixes = tuple(default_prefixes() if prefixes is None else prefixes)
        folders = default_sources() if sources is None else sources
        self._sources = {_package_name(folder): folder / "msg" for folder in folders}
        self._full_texts: dict[str, str] = {}

    def full_text(self, type_name: str) -> str:
        """Return the definition of a type followed by those of every type it contains.

        The format is the ``ros2msg`` schema encoding: definitions separated by a line of 80 ``=`` and a line
        ``MSG: package/Name``.

        Args:
            type_name: ``package/msg/Name``.

        Raises:
            InputError: The type, or one that it contains, has no definition.
        """
        package, name = _split(type_name)
        key = f"{package}/{name}"
        if key not in self._full_texts:
            self._full_texts[key] = self._concatenate(package, name)
        return self._full_texts[key]

    def _concatenate(self, package: str, name: str) -> str:
        first = f"{package}/{name}"
        parts = {first: self._text(first, needed_by=None)}
        pending = [first]
        while pending:
            key = pending.pop(0)
            for other in _dependencies(key.split("/")[0], parts[key]):
                if other not in parts:
                    parts[other] = self._text(other, needed_by=key)
                    pending.append(other)
        texts = [text if key == first else f"MSG: {key}\n{text}" for key, text in parts.items()]
        return f"\n{_SEPARATOR}\n".join(texts)

    def _text(self, key: str, needed_by: str | None) -> str:
        """Return the definition of one type alone."""
        package, name = key.split("/")
        for folder in self._folders(package):
            file = folder / f"{name}.msg"
            if file.is_file():
                return file.read_text(encoding="utf-8").rstrip("\n") + "\n"
        if f"{package}/msg/{name}" in _jazzy_names():
            return _jazzy_text(f"{package}/msg/{name}")
        raise self._unknown(package, name, f" (needed by {needed_by})" if needed_by else "")

    def _folders(self, package: str) -> Iterable[Path]:
        for prefix in self._prefixes:
            yield prefix / "share" / package / "msg"
        if package in self._sources:
            yield self._sources[package]

    def _unknown(self, package: str, name: str, where: str) -> InputError:
        names = {file.stem for folder in self._folders(package) for file in folder.glob("*.msg")}
        names |= {known.split("/")[2] for known in _jazzy_names() if known.startswith(f"{package}/")}
        message = f"no definition of message type {package}/msg/{name}{where}"
        if names:
            return InputError(message, available=sorted(names))
        return InputError(
            message,
            expected=f"package {package} on AMENT_PREFIX_PATH (source its setup file, or install it)",
        )


def _package_name(folder: Path) -> str:
    manifest = folder / "package.xml"
    match = re.search(r"<name>\s*([A-Za-z0-9_]+)\s*</name>", manifest.read_text(encoding="utf-8"))
    if match is None:
        raise InputError(f"{str(manifest)!r} names no package")
    return match[1]
