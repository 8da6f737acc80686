"""The TSV format: the columns of VLMEvalKit's loader, rotations, and hostile files."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.cli.main import main
from embodied_iqa.suites.static_benchmark.circular import can_rotate, circular_items, plain_items, rotated
from embodied_iqa.suites.static_benchmark.items import Dimension, Item, Person
from embodied_iqa.suites.static_benchmark.tsv import ItemTable, read_tsv, write_tsv
from embodied_iqa.suites.static_benchmark.tsv_images import encode_image

IMAGE = encode_image(np.full((24, 32, 3), 90, np.uint8))
HEADER = "index\timage\tquestion\tA\tB\tC\tanswer\tcategory\tl2-category"


def item(index: int = 0, options: tuple[str, ...] = ("red", "green", "blue"), answer: str = "B") -> Item:
    return Item(
        index, index, "Which colour?", options, answer, "", Dimension.MICRO, Person.FIRST, "simulation"
    )


def write(tmp_path: Path, *rows: str, header: str = HEADER) -> Path:
    path = tmp_path / "items.tsv"
    path.write_text("\n".join((header, *rows)) + "\n", encoding="utf-8")
    return path


def row(index: str = "0", image: str = IMAGE, options: str = "red\tgreen\tblue", answer: str = "B") -> str:
    return f"{index}\t{image}\tWhich colour?\t{options}\t{answer}\tmicro perception\tfirst person"


def test_a_written_file_reads_back_equal_and_the_same_items_give_the_same_bytes(tmp_path: Path) -> None:
    items = (item(0), item(7, ('a "quoted"\ttab', "line\nbreak"), "A"))
    images = {0: IMAGE, 7: IMAGE}
    for name in ("one.tsv", "two.tsv"):
        write_tsv(tmp_path / name, items, images)
    assert read_tsv(tmp_path / "one.tsv") == ItemTable(items, images)
    assert (tmp_path / "one.tsv").read_bytes() == (tmp_path / "two.tsv").read_bytes()


def test_vlmevalkits_reader_finds_its_columns(tmp_path: Path) -> None:
    """The steps of `ImageBaseDataset.__init__` and of `build_prompt` (VLMEvalKit, commit e8e78f0)."""
    plain = (item(0), item(1, ("1", "2"), "A"), item(2, ("to the left", "to the right", "up", "down"), "D"))
    write_tsv(tmp_path / "c.tsv", circular_items(plain), {0: IMAGE, 1: IMAGE, 2: IMAGE})
    data = pd.read_csv(tmp_path / "c.tsv", sep="\t")
    data["index"] = [str(value) for value in data["index"]]
    image_map = dict(zip(data["index"], (str(value) for value in data["image"]), strict=True))
    for key, image in image_map.items():
        if len(image) <= 64:
            assert len(image_map[image]) > 64, key
    for line, expected in zip(data.to_dict("records"), circular_items(plain), strict=True):
        options = {c: line[c] for c in "ABCDEFGH" if c in line and not pd.isna(line[c])}
        assert "".join(options) == expected.letters
        assert line["answer"] in options
        assert int(line["g_index"]) == int(line["index"]) % 10**6


@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_k_options_give_k_rows_and_undoing_a_rotation_gives_the_original(count: int) -> None:
    original = item(5, tuple(f"text {number}" for number in range(count)), "B")
    rows = circular_items([original])
    assert len(rows) == count
    assert {entry.answer for entry in rows} == set(original.letters)
    assert [entry.index for entry in rows] == [5 + turn * 10**6 for turn in range(count)]
    for turn, entry in enumerate(rows):
        assert entry.options[entry.letters.index(entry.answer)] == "text 1"
        assert rotated(entry, (count - turn) % count, 0).options == original.options
    assert plain_items(rows) == (rows[0],)


def test_indices_above_a_million_take_a_larger_stride() -> None:
    assert [entry.index for entry in circular_items([item(10**6)])][1] == 10**6 + 10**7


@pytest.mark.parametrize("option", ["A", "both A and B", "A or C", "Neither A nor B", "options A, B"])
def test_options_that_name_letters_are_not_rotated(option: str) -> None:
    assert not can_rotate(item(0, ("red", option)))
    assert len(circular_items([item(0, ("red", option))])) == 1


def test_an_option_with_the_article_is_rotated() -> None:
    assert can_rotate(item(0, ("A red cube", "a cube marked B")))


def test_an_option_that_pandas_reads_as_missing_is_kept_and_told(tmp_path: Path) -> None:
    write_tsv(tmp_path / "x.tsv", [item(0, ("None", "one")), item(1)], {0: IMAGE, 1: IMAGE})
    table = read_tsv(tmp_path / "x.tsv")
    assert table.items[0].options == ("None", "one")
    assert [found.index for found in table.missing_in_pandas] == [0]


def test_base64_may_be_wrapped(tmp_path: Path) -> None:
    write_tsv(tmp_path / "x.tsv", [item(0)], {0: IMAGE})
    wrapped = "\r\n".join(IMAGE[at : at + 76] for at in range(0, len(IMAGE), 76))
    text = (tmp_path / "x.tsv").read_text().replace(IMAGE, f'"{wrapped}"')
    (tmp_path / "x.tsv").write_text(text, newline="")
    assert read_tsv(tmp_path / "x.tsv").images == {0: IMAGE}


def test_groups_and_unknown_columns_are_reported(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        f"{row()}\tx",
        row("3", "0").replace("micro perception", "Plan") + "\ty",
        header=f"{HEADER}\tnote",
    )
    table = read_tsv(path)
    assert table.unknown_columns == ("note",)
    assert dict(table.unmapped) == {"category=Plan": 1}
    assert [entry.image for entry in table.items] == [0, 0]
    assert read_tsv(path, {"Plan": Dimension.MACRO}).items[1].dimension is Dimension.MACRO


def test_texts_of_groups_without_a_meaning_stay_in_the_circular_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = row().replace("micro perception", "Plan") + "\tx"
    second = row("1", "0").replace("first person", "Arm") + "\ty"
    path = write(tmp_path, first, second, header=f"{HEADER}\tno\x1b[31mte")
    assert main(["static", "circular", str(path)]) == 0
    assert "not written: no?[31mte" in capsys.readouterr().out
    table = read_tsv(tmp_path / "items_circular.tsv", {"Plan": Dimension.MACRO}, {"Arm": Person.THIRD})
    found = [(entry.dimension, entry.person) for entry in table.items]
    assert found == [(Dimension.MACRO, Person.FIRST)] * 3 + [(Dimension.MICRO, Person.THIRD)] * 3


def test_import_leaves_the_file_that_it_reads_alone(tmp_path: Path) -> None:
    path = write(tmp_path, row() + "\tx", header=f"{HEADER}\tnote")
    before = path.read_bytes()
    assert main(["static", "import", str(path), "--out", str(tmp_path)]) == 2
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["items.tsv"]


def test_control_characters_of_the_header_stay_out_of_messages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "1", header='"in\n\x1b]0;dex"')
    assert main(["static", "import", str(path), "--out", str(tmp_path / "bench")]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "\x1b" not in error


def bomb() -> str:
    """Return a PNG whose header claims 40,000 x 40,000 pixels that its few megabytes really hold."""
    header = struct.pack(">IIBBBBB", 40_000, 40_000, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(bytes(1_700_000), 9) * 1200), (b"IEND", b"")]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )
    return base64.b64encode(data).decode()


HOSTILE = {
    "long text": (lambda: row(options=f"red\tgreen\t{'x' * 10**7}"), "too long"),
    "NUL": (lambda: row(options="red\tgr\0een\tblue"), "NUL"),
    "long image": (lambda: row(image="A" * 40_000_000), "field limit"),
    "bomb": (lambda: row(image=bomb()), "too large"),
    "not base64": (lambda: row(image="?" * 100), "not base64"),
    "no image": (lambda: row(image="QUJD" * 30), "not a PNG or JPEG"),
    "itself": (lambda: row("3", "3"), "no image of its own"),
    "loop": (lambda: row("1", "2") + "\n" + row("2", "1"), "no image of its own"),
    "no such row": (lambda: row("1", "99"), "does not exist"),
    "gap": (lambda: row(options="red\t\tblue", answer="A"), "gap"),
    "one option": (lambda: row(options="red\t\t", answer="A"), "gap"),
    "equal options": (lambda: row(options="red\tred\tblue"), "equal"),
    "answer": (lambda: row(answer="D"), "not an option"),
    "two answers": (lambda: row(answer="AB"), "not an option"),
    "index": (lambda: row("-1"), "whole number"),
    "index twice": (lambda: row("1") + "\n" + row("1"), "same index"),
    "path as image": (lambda: row("1", "../../etc/passwd"), "whole number"),
    "cells": (lambda: row() + "\tmore", "number of cells"),
    "quote": (lambda: row(options='"red\tgreen\tblue'), "row"),
    "empty": (lambda: "", "number of cells"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, words = HOSTILE[name]
    path = write(tmp_path, make())
    assert main(["static", "import", str(path), "--out", str(tmp_path / "bench")]) == 1
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert len(error) < 600
    assert [found.name for found in tmp_path.iterdir()] == ["items.tsv"]


@pytest.mark.parametrize(
    "name", ["../secret.jpg", "/etc/hostname", "link.jpg", "a" * 300, "x\0y", "['a', 'b']"]
)
def test_image_path_does_not_leave_its_folder(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    (tmp_path / "secret.jpg").write_bytes(base64.b64decode(IMAGE))
    (folder / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    path = write(tmp_path, row(image="") + f"\t{name}", header=f"{HEADER}\timage_path")
    with pytest.raises(InputError, match="image_path"):
        read_tsv(path, images=folder)
    with pytest.raises(InputError, match="--images"):
        read_tsv(path)


def test_import_writes_a_benchmark_and_reports_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / "a.jpg").write_bytes(base64.b64decode(IMAGE))
    first, second = row("1", "") + "\ta.jpg", row("2", "1").replace("micro perception", "Plan") + "\t"
    path = write(tmp_path, first, second, header=f"{HEADER}\timage_path")
    out = tmp_path / "bench"
    words = ["static", "import", str(path), "--out", str(out), "--images", str(folder)]
    assert main([*words, "--category", "macro=Plan"]) == 0
    report = capsys.readouterr().out
    assert "2 rows, 2 items, 1 images" in report
    assert "not a published file" in report
    assert "1 macro planning, 1 micro perception" in report
    assert len(read_tsv(out / "items.tsv").items) == 2
    assert main(words) == 1
    assert "holds a benchmark already" in capsys.readouterr().err
    assert main([*words[:3], "--out", str(tmp_path / "other"), *words[5:], "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["rows"], printed["published_as"]) == (2, None)
    assert printed["values_without_a_meaning"] == {"category=Plan": 1}


def test_circular_writes_beside_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tsv(tmp_path / "items.tsv", [item(0), item(1, ("both A and B", "x"))], {0: IMAGE, 1: IMAGE})
    assert main(["static", "circular", str(tmp_path / "items.tsv")]) == 0
    assert "not rotated, because options name letters: 1 (1)" in capsys.readouterr().out
    table = read_tsv(tmp_path / "items_circular.tsv")
    assert [entry.index for entry in table.items] == [0, 10**6, 2 * 10**6, 1]
    assert set(table.images) == {0, 1}
    assert main(["static", "circular", str(tmp_path / "items.tsv"), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["rows"], printed["items"], printed["not_rotated"]) == (4, 2, [1])
    assert main(["static", "circular", str(tmp_path / "items_circular.tsv")]) == 2
