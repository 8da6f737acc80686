"""JSON: each key once in its object, only finite numbers, and errors that name the place."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.user_files.json_files import MOST_DATASET_BYTES, MOST_JSON_BYTES, load_json, parse_json
from embodied_iqa.base.user_files.texts import read_text


@pytest.mark.parametrize(
    ("text", "second", "key", "first"),
    [
        ('{"a": 1, "a": 1}', "1:10", "a", "line 1, column 2"),
        ('{"a": [0, {"b": 1,\n "b": 2}]}', "2:2", "a[1].b", "line 1, column 12"),
        ('[{"a": {}}, {"a": 1, "\\u0061": 2}]', "1:22", "[1].a", "line 1, column 14"),
        ('{"x": "\\" } {, a", "a": {"a": 1}, "a": 2}', "1:35", "a", "line 1, column 20"),
        ('{"images": [{"id": 1}, {"id": 2,\n\n\t"id": 3}]}', "3:2", "images[1].id", "line 1, column 25"),
    ],
)
def test_a_key_that_is_written_twice_is_an_error_with_both_places(
    tmp_path: Path, text: str, second: str, key: str, first: str
) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_json(path, "the plan")
    assert str(caught.value) == f"the plan {path}:{second}: key {key} is written twice, first in {first}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": NaN}', "p:1:7: a; expected a finite number; got 'NaN'"),
        ('{"a": [1,\n -Infinity]}', "p:2:2: a[1]; expected a finite number; got '-Infinity'"),
        ("[1, 1e999]", "p:1:5: [1]; expected a finite number; got '1e999'"),
        ("Infinity", "p:1:1: the file; expected a finite number; got 'Infinity'"),
        ('{"NaN": "NaN", "a": -1e400}', "p:1:21: a; expected a finite number"),
        ("{", "p:1:2: not JSON: Expecting property name"),
        ('{"a": 1,\n "b" 2}', "p:2:6: not JSON: Expecting ':' delimiter"),
        ("", "p:1:1: not JSON"),
        ("[" * 100_000, "p: not JSON: too many levels"),
        ("1" * 5000, "p: not JSON: Exceeds the limit"),
        ("{'a': 1}", "p:1:2: not JSON"),
        ("[1, 2] // end", "p:1:8: not JSON: Extra data"),
    ],
)
def test_what_is_not_json_is_an_error_of_one_line(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_json(text, "p")
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


def test_a_line_of_a_file_names_its_own_line() -> None:
    with pytest.raises(InputError, match=r"^p:7:9: key a is written twice, first in line 7, column 2$"):
        parse_json('{"a": 1,"a": 2}', "p", 7)
    with pytest.raises(InputError, match=r"^p:7:5: not JSON"):
        parse_json("[1, ", "p", 7)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"a": "caf\xe9"}', "the card {path} is not text: line 1; expected UTF-8"),
        (b"[" + b"1," * 60 + b"1]", "the card {path} is too large; expected at most 100 bytes"),
    ],
)
def test_the_text_of_a_file_is_checked(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_json(path, "the card", most_bytes=100)
    assert str(caught.value).startswith(words.format(path=path))


@pytest.mark.parametrize(
    ("most_bytes", "words"), [(MOST_JSON_BYTES, "64 MiB"), (MOST_DATASET_BYTES, "1 GiB")]
)
def test_of_a_file_that_is_too_large_nothing_is_read(tmp_path: Path, most_bytes: int, words: str) -> None:
    path = tmp_path / "p.json"
    with path.open("wb") as file:
        file.truncate(most_bytes + 1)  # takes no room on the disk
    tracemalloc.start()
    with pytest.raises(InputError, match=f"the card .* is too large; expected at most {words}$"):
        load_json(path, "the card", most_bytes=most_bytes)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_a_text_is_read_in_twice_its_size(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps("a" * (8 << 20)))
    tracemalloc.start()
    read_text(path, most_bytes=MOST_JSON_BYTES)
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()


def test_a_device_without_an_end_is_read_up_to_the_limit() -> None:
    with pytest.raises(InputError, match="is too large; expected at most 2 MiB"):
        read_text(Path("/dev/zero"), most_bytes=2 << 20)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read the card .*: Is a directory"):
        load_json(tmp_path, "the card")


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert load_json(tmp_path / "p.json", "the card") == {"a": 1}


TREES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=12,
)


@given(TREES, st.sampled_from([None, 1]))
def test_all_other_json_is_read_as_python_reads_it(tree: Any, indent: int | None) -> None:
    text = json.dumps(tree, indent=indent)
    assert parse_json(text, "p") == json.loads(text)


@given(TREES, st.text(), st.sampled_from([None, 1]))
def test_a_key_twice_is_found_wherever_it_is(tree: Any, key: str, indent: int | None) -> None:
    word = json.dumps(key)
    inner = f"{{{word}: {json.dumps(tree, indent=indent)},\n{word}: 0}}"
    text = f'[{json.dumps(tree)}, {{"before": 1, "in": {inner}}}]'
    with pytest.raises(InputError) as caught:
        parse_json(text, "p")
    line = text[: text.rindex(word)].count("\n") + 1
    assert str(caught.value).startswith(f"p:{line}:1: key [1].in.")
