"""YAML: each key once, words and numbers as documented, and nothing that grows or runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.user_files.yaml_files import MOST_YAML_BYTES, compose, dump_yaml, load_yaml, parse_yaml

INF = float("inf")
CONVERTED_BY_ROS = "yes Yes no on On off y N 010 08 -010 00 nan inf -inf Infinity 0x1p3"
CONVERTED_BY_YAML_1_1 = "0o17 0b11 1_000 1:30 190:20:30 2026-01-31 2026-01-31T10:00:00Z <<"
OTHERS = "true null ~ 0x1F 1e3 5e-2 .5 5. .inf .nan 1e999 9223372036854775808 - : # & * ! ="


@pytest.mark.parametrize(
    ("text", "second", "key", "first"),
    [
        ("a: 1\nb: 2\na: 1\n", "3:1", "a", "line 1, column 1"),
        ("a:\n  b: {c: 1, c: 2}\n", "2:13", "a.b.c", "line 2, column 7"),
        ("- x: 1\n- - y: 1\n    'y': 2\n", "3:5", "[1][0].y", "line 2, column 5"),
        ("a: {b, b}\n", "1:8", "a.b", "line 1, column 5"),
        ("? a\n? a\n", "2:3", "a", "line 1, column 3"),
        ("1: x\n'1': y\n", "2:1", "1", "line 1, column 1"),
        ("on: x\n'on': y\n", "2:1", "on", "line 1, column 1"),
    ],
)
def test_a_key_that_is_written_twice_is_an_error_with_both_places(
    tmp_path: Path, text: str, second: str, key: str, first: str
) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_yaml(path)
    assert str(caught.value) == f"{path}:{second}: key {key} is written twice, first in {first}"


def test_one_key_in_two_mappings_is_no_error() -> None:
    assert parse_yaml("a: {x: 1}\nb: {x: 2}\n", "p") == {"a": {"x": 1}, "b": {"x": 2}}


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("true True TRUE false False FALSE", [True] * 3 + [False] * 3),
        ("~ null Null NULL", [None] * 4),
        ("0 12 -3 +5 -0 0x1F -0x10", [0, 12, -3, 5, 0, 31, -16]),
        ("9223372036854775807 -9223372036854775808", [2**63 - 1, -(2**63)]),
        ("1.5 .5 5. -.5 1e3 1E+3 5e-2 2.5e1", [1.5, 0.5, 5.0, -0.5, 1000.0, 1000.0, 0.05, 25.0]),
        (".inf -.INF +.Inf", [INF, -INF, INF]),
    ],
)
def test_scalars_without_quotes(words: str, values: list[object]) -> None:
    found = parse_yaml("\n".join(f"- {word}" for word in words.split()), "p")
    assert [(type(value), value) for value in found] == [(type(value), value) for value in values]


@pytest.mark.parametrize(
    "word",
    [*CONVERTED_BY_ROS.split(), *CONVERTED_BY_YAML_1_1.split(), "1e", "1.5e", "e3", ".", "+", "--", "="],
)
def test_what_another_version_converts_is_text(word: str) -> None:
    assert parse_yaml(f"a: {word}\n", "p") == {"a": word}


@pytest.mark.parametrize("word", ["5", "true", "null", "1e3", ".nan", ""])
def test_quotes_make_text(word: str) -> None:
    assert parse_yaml(f"['{word}', \"{word}\", !!str {word}]", "p") == [word] * 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: .nan", "p:1:4: a value is not a number"),
        ("a: 1e999", "p:1:4: a number is too large; expected at most 64 bits; got '1e999'"),
        ("a: 9223372036854775808", "a whole number is too large"),
        ("a: !!int x", "type of its tag; expected int"),
        ("a: !!int '5'", "type of its tag; expected int"),
        ("a: !!binary aGk=", "unknown tag"),
        ("!!set {a, b}", "unknown tag"),
        ("a: !!python/object/apply:os.getcwd []", "unknown tag"),
        ("!foo a: 1", "unknown tag"),
        ("a: !!python/tuple {b: 1}", "unknown tag"),
        ("a: !!python/tuple b", "unknown tag"),
        ("a: &x [1]\nb: *x\n", "p:2:4: aliases are not read; expected the value itself"),
        ("? [a]\n: 1\n", "p:1:3: a key is a collection"),
        ("a: 1\n---\nb: 1\n", "p:3:1: not YAML of one document"),
        ("a: 1\n b: 2\n", "p:2:3: not YAML: mapping values"),
        ("a: [1\n", "p:2:1: not YAML"),
        ("\ta: 1", "p:1:1: not YAML"),
        ("a: \x07", "p: not YAML: unacceptable character"),
        ("[" * 100_000, "p:1:33: too many levels"),
        ("- " * 100_000, "p:1:65: too many levels"),
    ],
)
def test_what_is_not_read_is_an_error_of_one_line(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_yaml(text, "p")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_arrays_as_launch_ros_writes_them_are_lists() -> None:
    parameters = {"views": ("top", "wrist"), "joints": (1, 2)}
    assert parse_yaml(yaml.dump(parameters), "p") == {"views": ["top", "wrist"], "joints": [1, 2]}


def test_aliases_cannot_grow() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
    with pytest.raises(InputError, match="p:2:10: aliases are not read"):
        parse_yaml(bomb, "p")
    with pytest.raises(InputError, match=r"p:\d+:\d+: too many values"):
        compose(bomb, "p", aliases=True)
    with pytest.raises(InputError, match=r"p:\d+:\d+: too many levels"):
        compose(
            "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 60)), "p", aliases=True
        )
    with pytest.raises(InputError, match="p:1:8: aliases are not read"):
        compose("a: &a [*a]", "p", aliases=True)


def test_aliases_of_others_are_what_they_stand_for(tmp_path: Path) -> None:
    same = {"nanoseconds": 1}
    tree = {"files": [same, same], "all": same, "none": []}
    file = tmp_path / "metadata.yaml"
    file.write_text(yaml.dump(tree))
    assert "*id001" in file.read_text()
    assert load_yaml(file, aliases=True) == tree


def test_a_merge_key_is_a_key_like_others() -> None:
    assert parse_yaml("<<: {a: 1}\n", "p") == {"<<": {"a": 1}}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a: 1\nb: caf\xe9\n", "p.yaml is not text: line 2; expected UTF-8; got b'\\xe9'"),
        ("a: 1\n".encode("utf-16"), "p.yaml is not text: line 1"),
        (b"#" * (MOST_YAML_BYTES + 1), "p.yaml is too large; expected at most 8 MiB"),
    ],
)
def test_the_text_of_a_file_is_checked(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "p.yaml").write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_yaml(tmp_path / "p.yaml")
    assert words in str(caught.value)


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert load_yaml(tmp_path / "p.yaml") == {"a": 1}


def test_a_device_without_end_is_not_read_to_its_end() -> None:
    with pytest.raises(InputError, match="too large"):
        load_yaml(Path(os.devnull).with_name("zero"))


WORDS = st.one_of(
    st.text(alphabet=st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), max_size=12),
    st.sampled_from([*CONVERTED_BY_ROS.split(), *CONVERTED_BY_YAML_1_1.split(), *OTHERS.split()]),
    st.from_regex(r"[-+]?[0-9.xXeEpP_:oa-f]{1,6}", fullmatch=True),
)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False),
        WORDS,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=4)),
    max_leaves=8,
)


@given(VALUES, st.booleans())
def test_what_is_written_is_read_back(tree: Any, flow_leaves: bool) -> None:
    text = dump_yaml(tree, flow_leaves=flow_leaves)
    assert parse_yaml(text, "p") == tree
    assert yaml.safe_load(text) == tree  # YAML 1.1 agrees


def test_equal_lists_are_written_out() -> None:
    shared = [1, 2]
    assert parse_yaml(dump_yaml({"a": shared, "b": shared}), "p") == {"a": [1, 2], "b": [1, 2]}


def test_the_tables_of_the_package_have_each_key_once() -> None:
    """They are read with merge keys, by PyYAML itself."""
    import embodied_iqa

    files = sorted(Path(embodied_iqa.__file__).parent.rglob("*.yaml"))
    assert files
    for file in files:
        nodes = list(yaml.compose_all(file.read_text(encoding="utf-8"), Loader=yaml.SafeLoader))
        while nodes:
            node: Any = nodes.pop()
            if isinstance(node, yaml.MappingNode):
                keys = [key.value for key, _ in node.value]
                assert len(set(keys)) == len(keys), f"{file}:{node.start_mark.line + 1}"
                nodes += [value for _, value in node.value]
            elif isinstance(node, yaml.SequenceNode):
                nodes += node.value
