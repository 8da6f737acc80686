"""What guides name in code marks is in the program: names, calls, levels, files; all offenders at once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache

from guide_spans import spans
from style_sources import ROOT, project_files

from embodied_iqa.imaging.distortions import catalogue, miqd_catalogue

PROGRAM = ("src", "scripts", "benchmarks", "examples", "config", "launch", "msg", "docker", "requirements")
FOREIGN = {
    "packages of ROS": {
        *("control_msgs", "controller_manager_msgs", "cv_bridge", "foxglove_bridge", "robot_state_publisher"),
        *("ros2cli", "rosbag2_py", "rosdep", "tf2"),
    },
    "other packages": {"evdev", "json_numpy", "pynput", "python-xlib"},
    "classes, services and settings of ROS": {
        "PushRosNamespace",
        "SetRemap",
        "resend_robot_program",
        "LARGE_DATA",
    },
    "a metric of pyiqa": {"musiq"},
    "joints and parameters of the UR driver": {"shoulder_pan_joint", "wrist_3_joint", "tf_prefix"},
    "openpi": {"LeRobotUR5DataConfig", "UR5Inputs", "UR5Outputs", "api_key", "pi0_ur5"},
    "OpenCV and MATLAB": {"calibrateHandEye", "imnoise"},
    "Hugging Face": {
        *("HF_ENDPOINT", "id2label", "preprocessor_config.json", "t5-base"),
        "AutoModel.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER)",
    },
    "JSON as Python writes it": {"Infinity"},
    "a folder of the data set LIVE": {"databaserelease2"},
}
"""What others named."""
COMPOSED = {
    "a name and _tables, so that each report has its own": {"report_tables/", "DB/report_tables/"},
    "the name of the recording before .recovered.mcap": {"trial.recovered.mcap"},
    "one for each part, split, camera or score": {
        *("features_0", "features_1", "split_seed0", "split_seed9"),
        *("refusal_loss_mean", "refused_mean", "wrong_motion_loss_mean"),
    },
}
"""What the program puts together from parts."""
EXAMPLES = {
    "a reader's own part, camera or file": {"acme-vla", "left_wrist", "mine-worst", "wrist.db3"},
    "a header of requests that is refused": {"Gate-Client"},
    "another spelling of ms-ssim": {"MS_SSIM"},
    "a folder named after the model M": {"M-evaluation"},
    "a volume that the reader makes": {"embodied-iqa-models"},
}
"""What a reader names, written like names of the program."""
_OTHERS = {name for kinds in (FOREIGN, COMPOSED, EXAMPLES) for names in kinds.values() for name in names}
_TEXTS = {".py", ".yaml", ".toml", ".txt", ".msg", ".srv", ".action", ".j2", ".js", ".xml", ".sh", ".cff", ""}
_WORD = re.compile(r"[\w.-]*\w[\w.-]*")
_NAME = re.compile(r"[A-Za-z]\w*(?:-\w+)*")
_VARIABLE = re.compile(r"[A-Z]+|[A-Z]\w{0,2}|NAME_\w+")
_CHAIN = re.compile(r"[\w.]+\(|[A-Z][a-z]\w*\.[a-z_]+$")
_LEVEL = re.compile(r"((?:miqd:)?[a-z0-9-]+):[1-5]")
_FILE = re.compile(
    r"[\w.<>-][\w./<>-]*(?:/|\.(?:cff|csv|db3|html|json|jsonl|mcap|md|msg|npz|onnx|parquet|py|svg|txt|yaml|yml))"
)
_PROSE = re.compile(r'""".*?"""|^ *#[^\n]*$', re.MULTILINE | re.DOTALL)
_HOLE = re.compile(r"<\w+>|\d{2,}|N{2,}|(?<=_)N(?=[_.])|[A-Z]{2,}")


@cache
def words() -> frozenset[str]:
    """Return every word of the program without docstrings and comments, and the names of distortions."""
    found = {word for line in (*catalogue(), *miqd_catalogue()) for word in (line.id, line.name)}
    for file in project_files():
        if file.suffix in _TEXTS and (file.parent == ROOT or file.relative_to(ROOT).parts[0] in PROGRAM):
            text = file.read_text(encoding="utf-8")
            found.update(_WORD.findall(_PROSE.sub("", text) if file.suffix == ".py" else text))
    return frozenset(found)


@cache
def paths() -> frozenset[str]:
    """Return every file and folder of the checkout, and each end of its path."""
    found: set[str] = set()
    for file in project_files():
        parts = file.relative_to(ROOT).parts
        for end in range(1, len(parts) + 1):
            found.update("/".join(parts[start:end]) for start in range(end))
    return frozenset(found)


def names_of(span: str) -> Iterator[str]:
    """Yield the names of the program that a span in code marks consists of."""
    if _CHAIN.match(span):
        yield from _names_of_call(span)
    elif _NAME.fullmatch(span) and not _VARIABLE.fullmatch(span):
        yield span
    elif (level := _LEVEL.fullmatch(span)) is not None:
        yield level[1]


def _names_of_call(span: str) -> Iterator[str]:
    """Yield the names of a chain of calls and attributes, without those in arguments."""
    try:
        node: ast.expr = ast.parse(span, mode="eval").body
    except SyntaxError:
        return
    while not isinstance(node, ast.Name):
        match node:
            case ast.Call():
                node = node.func
            case ast.Attribute():
                yield node.attr
                node = node.value
            case _:
                return
    yield node.id


def is_file(span: str) -> bool:
    """Whether a file is in the checkout, or commands write one of its name: the program has it as text."""
    path = span.rstrip("/")
    name = path.rpartition("/")[2]
    pieces = [piece for piece in _HOLE.split(name) if piece.strip(".")]
    return path in paths() or name in words() or all(_has(piece) for piece in pieces)


@cache
def unknown_names() -> frozenset[str]:
    """Return the words in code marks that have a name which the program does not have."""
    known = words() | paths()
    return frozenset(span for span in spans() if not known >= set(names_of(span)))


@cache
def unknown_files() -> frozenset[str]:
    """Return the files in code marks that are not in the checkout and that no command writes."""
    return frozenset(span for span in spans() if _FILE.fullmatch(span) and not is_file(span))


def _has(piece: str) -> bool:
    return piece in words() or any(piece in word for word in words())


def _listed(unknown: Iterable[str]) -> str:
    return "\n".join(f"{', '.join(sorted(spans()[span]))}: {span}" for span in sorted(unknown))


def test_names_in_code_marks_exist() -> None:
    assert not unknown_names() - _OTHERS, _listed(unknown_names() - _OTHERS)


def test_files_in_code_marks_exist_or_are_written() -> None:
    assert not unknown_files() - _OTHERS, _listed(unknown_files() - _OTHERS)


def test_every_exception_is_needed() -> None:
    assert _OTHERS - unknown_names() - unknown_files() == set()


def test_what_is_unknown_is_found() -> None:
    assert list(names_of('load_metrics("trained:DIR").predicted(image).outside')) == [
        *("outside", "predicted", "load_metrics"),
    ]
    assert list(names_of("panel-vla-quary")) == ["panel-vla-quary"]
    assert list(names_of("white-nose:3")) == ["white-nose"]
    assert list(names_of("DIR")) == []
    assert not words() & {"load_metrics", "panel-vla-quary", "white-nose"}
    assert is_file("docs/tour.md")
    assert is_file("results/episode_N_res.json")
    assert not is_file("docs/" + "tours.md")
    assert not is_file("results/episode_N_results.json")
