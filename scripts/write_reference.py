"""Writes docs/reference/parameters.md and docs/reference/topics.md from what the nodes themselves declare.

Parameters come from the dataclasses, topics from the table of the recorder, fields from the files in msg/.
A test compares the pages with what this writes.
"""

from __future__ import annotations

import enum
import re
import typing
from collections.abc import Iterator
from pathlib import Path

from embodied_iqa.base.config import Parameter, parameters_of
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros.recorded_topics import recorded_topics
from embodied_iqa.pages.reports.kit.markdown import prose
from embodied_iqa.runs.graph.gate_filter_parameters import GateFilterParameters
from embodied_iqa.runs.graph.gate_only_parameters import GateOnlyParameters
from embodied_iqa.runs.graph.parameters import GraphParameters

ROOT = Path(__file__).resolve().parents[1]
PARAMETERS = ROOT / "docs/reference/parameters.md"
TOPICS = ROOT / "docs/reference/topics.md"
_BY = "Written by `scripts/write_reference.py`; do not edit."
_FIELD = re.compile(r"(?P<type>[\w/\[\]<=\d]+) +(?P<name>\w+)(?: *= *(?P<value>.*\S))?")
_LONGEST_DEFAULT = 60


def parameters_page() -> str:
    """Return the page of all parameters of all nodes."""
    nodes = {name: kind for name, kind in typing.get_type_hints(GraphParameters).items() if name != "qos"}
    parts = [
        "# Parameters of the nodes",
        prose(
            "Every parameter that a node declares: its type, default, range and meaning. "
            "[ROS graph](ros-graph.md#parameters) says how to set them and which may change while a node "
            "runs. A `{...}` in a name stands for the name of a camera. " + _BY
        ),
        *(_node(name, kind) for name, kind in nodes.items()),
        prose(
            "The nodes below run [by themselves](../gate-ros.md), beside a ROS 2 stack of yours. "
            "For `gate` set only `judge.lease.ttl_s`: the other times of a lease are those of the arm of a "
            "trial."
        ),
        _node("gate", GateOnlyParameters),
        _node("gate_filter", GateFilterParameters),
    ]
    return "\n\n".join(parts) + "\n"


def _node(name: str, kind: type) -> str:
    rows = [_row(parameter) for parameter in parameters_of(kind)]
    heading = "| Parameter | Type | Default | Range | Meaning |\n|---|---|---|---|---|"
    return f"## {name}\n\n" + "\n".join([heading, *rows])


def _row(parameter: Parameter) -> str:
    kind, limits = parameter.kind, ""
    if issubclass(kind, enum.Enum):
        limits = ", ".join(f"`{member.value}`" for member in kind)
    elif parameter.limits is not None:
        limits = str(parameter.limits)
    plain = next((one.__name__ for one in (bool, int, float) if issubclass(kind, one)), "str")
    words = f"list of {plain}" if parameter.is_list else plain
    cells = [f"`{parameter.name}`", words, _default(parameter.default), limits, parameter.description]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(value: object) -> str:
    if value in ("", []):
        return "empty"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text}`" if len(text) <= _LONGEST_DEFAULT else f"`{text[: _LONGEST_DEFAULT - 3]}...`"


def topics_page() -> str:
    """Return the page of the recorded topics and of all messages, services and actions."""
    parts = [
        "# Topics and messages",
        prose(
            "The topics that a trial records, with type and quality of service, and the fields of every "
            "message of `embodied_iqa_msgs`. [ROS graph](ros-graph.md) says which node publishes what. "
            "`<view>` is the name of a camera. " + _BY
        ),
        "## Recorded topics\n\n" + "\n".join(_topic_rows()),
        *(_interface(file) for kind in ("msg", "srv", "action") for file in _files(kind)),
    ]
    return "\n\n".join(parts) + "\n"


def _topic_rows() -> Iterator[str]:
    yield "| Topic | Type | Quality of service |\n|---|---|---|"
    for topic in recorded_topics([View("view")], distorted_images=True):
        durable = "transient local" if topic.qos.durability.name == "TRANSIENT_LOCAL" else "volatile"
        reliable = topic.qos.reliability.name.lower().replace("_", " ")
        name = topic.name.replace("/view/", "/<view>/")
        kind = topic.type_name
        shown = f"[`{kind}`](#{kind.rpartition('/')[2].lower()})" if "embodied_iqa" in kind else f"`{kind}`"
        yield f"| `{name}` | {shown} | {reliable}, {durable}, depth {topic.qos.depth} |"


def _files(kind: str) -> list[Path]:
    return sorted((ROOT / "msg").rglob(f"*.{kind}"))


def _interface(file: Path) -> str:
    sections = re.split(r"^---$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    titles = {1: ("",), 2: ("Request", "Response"), 3: ("Goal", "Result", "Feedback")}[len(sections)]
    parts = [f"## {file.stem}"]
    for title, section in zip(titles, sections, strict=True):
        introduction, rows = _fields(section)
        parts += [f"**{title}**"] if title else []
        parts += [prose(introduction)] if introduction else []
        parts += ["\n".join(["| Field | Type | Meaning |\n|---|---|---|", *rows])] if rows else []
    return "\n\n".join(parts)


def _fields(section: str) -> tuple[str, list[str]]:
    """Return the text above the first field, and a row for each field: a comment above it or behind it."""
    lead, _, rest = section.lstrip("\n").partition("\n\n")
    is_text = all(line.startswith("#") for line in lead.splitlines())
    introduction = " ".join(line.lstrip("# ") for line in lead.splitlines()) if is_text else ""
    rows: list[str] = []
    above: list[str] = []
    for line in (rest if is_text else section).splitlines():
        code, _, comment = line.partition("#")
        found = _FIELD.match(code.strip())
        if found is None:
            above = [*above, comment.strip()] if comment else []
            continue
        meaning = " ".join(filter(None, [*above, comment.strip()])).replace("|", "/")
        name = f"{found['name']} = {found['value']}" if found["value"] else found["name"]
        rows.append(f"| `{name}` | `{found['type']}` | {meaning} |")
        above = []
    return introduction, rows


def main() -> None:
    """Write both pages."""
    write_text_whole(PARAMETERS, parameters_page())
    write_text_whole(TOPICS, topics_page())


if __name__ == "__main__":
    main()
