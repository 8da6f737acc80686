"""Task files: valid entries are read, errors name their line, and no path leaves the folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.resources import source_checkout
from embodied_iqa.base.user_files.yaml_files import MOST_YAML_BYTES
from embodied_iqa.cli.main import main
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr
from embodied_iqa.world.tasks.task import TaskSource, task_from_row, task_row
from embodied_iqa.world.tasks.task_files import ImageLabels, check_task_file, load_task_file
from embodied_iqa.world.tasks.vocabulary import Verb

HEAD = "format: embodied-iqa-tasks\nversion: 1\nimages:\n"
ONE = HEAD + "- image: a.png\n  tasks:\n"
GOOD = (
    HEAD
    + """\
- image: kitchen/mug.png
  tasks:
  - {rank: 2, text: "pull the  drawer below the mug", verb: pull}
  - rank: 1
    text: pick up the red mug
- bag: runs/trial.mcap
  stamp_ns: 1731000000000000000
  view: wrist
  tasks:
  - {rank: 1, text: no comment}
"""
)
GOOD_CSV = """\
# embodied-iqa-tasks 1
image,bag,stamp_ns,view,rank,text,verb
kitchen/mug.png,,,,2,"pull the  drawer below the mug",pull
kitchen/mug.png,,,,1,pick up the red mug,

,runs/trial.mcap,1731000000000000000,wrist,1,no comment,
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kitchen").mkdir()
    (tmp_path / "runs").mkdir()
    for name in ("a.png", "b.png", "kitchen/mug.png", "runs/trial.mcap"):
        (tmp_path / name).touch()
    return tmp_path


def written(folder: Path, text: str, name: str = "tasks.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("text", "name"), [(GOOD, "tasks.yaml"), (GOOD_CSV, "tasks.csv")])
def test_images_and_recordings(folder: Path, text: str, name: str) -> None:
    mug, frame = load_task_file(written(folder, text, name))
    assert str(mug.path) == "kitchen/mug.png"
    assert [(task.rank, task.text, task.verb) for task in mug.tasks] == [
        (1, "pick up the red mug", None),
        (2, "pull the  drawer below the mug", Verb.PULL),
    ]
    assert (frame.stamp_ns, frame.view) == (1731000000000000000, View.WRIST)
    for task in (*mug.tasks, *frame.tasks):
        assert task.source is TaskSource.FILE
        assert task_from_row(task_row(task)) == task


@pytest.mark.parametrize(("text", "name"), [(GOOD, "tasks.yaml"), (GOOD_CSV, "tasks.csv")])
def test_files_with_the_former_names_hold_the_same(folder: Path, text: str, name: str) -> None:
    former = text.replace("images:", "pictures:").replace("image:", "picture:").replace("image,", "picture,")
    assert former != text
    assert load_task_file(written(folder, former, name)) == load_task_file(written(folder, text, name))


LABELLED = (
    HEAD
    + """\
- image: a.png
  main_object: Kitchen  Item
  background: wood
  real: false
  tasks:
  - {rank: 1, text: go}
  - {rank: 2, text: stay}
- image: b.png
  main_kind: cup
  real: True
  tasks: [{rank: 1, text: go}]
"""
)
LABELLED_CSV = """\
# embodied-iqa-tasks 1
image,bag,stamp_ns,view,rank,text,verb,real,background,main_object,main_kind
a.png,,,,1,go,,,wood,Kitchen  Item,
a.png,,,,2,stay,,false,,Kitchen  Item,
b.png,,,,1,go,,True,,,cup
"""


@pytest.mark.parametrize(("text", "name"), [(LABELLED, "tasks.yaml"), (LABELLED_CSV, "tasks.csv")])
def test_images_carry_labels(folder: Path, text: str, name: str) -> None:
    first, second = load_task_file(written(folder, text, name))
    assert first.labels == ImageLabels("kitchen item", None, "wood", real=False)
    assert second.labels == ImageLabels(None, "cup", None, real=True)
    assert len(first.tasks) == 2


def test_images_without_labels_have_none(folder: Path) -> None:
    assert {item.labels for item in load_task_file(written(folder, GOOD))} == {ImageLabels()}


def test_both_forms_give_the_same_tasks(folder: Path) -> None:
    from_yaml = load_task_file(written(folder, GOOD))
    from_csv = load_task_file(written(folder, GOOD_CSV, "tasks.csv"))
    assert [item.tasks for item in from_yaml] == [item.tasks for item in from_csv]
    ids = [task.id for item in from_yaml for task in item.tasks]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("", 1, "empty"),
        ("- 1\n", 1, "not a mapping"),
        ("format: [1\n", 2, "not YAML"),
        ("format: other\nversion: 1\n", 1, "embodied-iqa-tasks"),
        ("format: embodied-iqa-tasks\nversion: 2\n", 2, "version"),
        ("format: embodied-iqa-tasks\nversion: 1\n", 1, "no images"),
        (HEAD + "  []\n", 1, "no images"),
        (HEAD + "- image: a.png\n  taskz: []\n", 5, "unknown key"),
        (HEAD + "- image: a.png\n  image: b.png\n", 5, "twice"),
        (HEAD + "- image: a.png\n  picture: b.png\n", 5, "twice"),
        (HEAD + "- image: [a.png]\n", 4, "not a single value"),
        (HEAD + "- tasks: []\n", 4, "either image or bag"),
        (HEAD + "- image: a.png\n", 4, "number of tasks"),
        (HEAD + "- &x {image: a.png, tasks: [{rank: 1, text: t}]}\n- *x\n", 5, "aliases"),
        (HEAD + "- " + "[" * 500 + "]" * 500, 4, "levels"),
        (ONE + "  - {rank: 1}\n", 6, "no text"),
        (ONE + "  - {text: go}\n", 6, "no rank"),
        (ONE + "  - {rank: 6, text: go}\n", 6, "from 1 to 5"),
        (ONE + "  - {rank: 1.5, text: go}\n", 6, "from 1 to 5"),
        (ONE + "  - {rank: 1, text: ' '}\n", 6, "empty task"),
        (ONE + '  - {rank: 1, text: "a\\u0007"}\n', 6, "control character"),
        (ONE + f"  - {{rank: 1, text: {'x' * 501}}}\n", 6, "500"),
        (ONE + "  - {rank: 1, text: fly, verb: fly}\n", 6, "available: cover, insert"),
        (ONE + "  - {rank: 1, text: go}\n  - {rank: 1, text: stay}\n", 7, "one rank"),
        (ONE + "  - {rank: 1, text: go}\n  - {rank: 2, text: Go}\n", 7, "comes twice"),
        (ONE + "".join(f"  - {{rank: {i % 5 + 1}, text: t{i}}}\n" for i in range(6)), 4, "1 to 5"),
        (
            ONE + "  - {rank: 1, text: go}\n- image: ./a.png\n  tasks: [{rank: 1, text: go}]\n",
            7,
            "listed twice",
        ),
        (HEAD + "- image: c.png\n  tasks: [{rank: 1, text: go}]\n", 4, "no such image"),
        (HEAD + "- image: a.png\n  stamp_ns: 3\n  tasks: [{rank: 1, text: go}]\n", 5, "no stamp_ns"),
        (HEAD + "- image: a.png\n  view: my nose\n  tasks: [{rank: 1, text: go}]\n", 5, "a letter"),
        (HEAD + "- bag: runs/trial.mcap\n  tasks: [{rank: 1, text: go}]\n", 4, "stamp_ns and view"),
        (HEAD + "- image: a.png\n  real: perhaps\n  tasks: [{rank: 1, text: go}]\n", 5, "true or false"),
        (HEAD + "- image: a.png\n  background: ' '\n  tasks: [{rank: 1, text: go}]\n", 5, "bad background"),
        (
            HEAD + '- image: a.png\n  main_object: "a\\u0007"\n  tasks: [{rank: 1, text: t}]\n',
            5,
            "printable",
        ),
        (
            HEAD + f"- image: a.png\n  main_kind: {'x' * 61}\n  tasks: [{{rank: 1, text: t}}]\n",
            5,
            "1 to 60",
        ),
        (HEAD + "- image: a.png\n  colour: red\n", 5, "main_object or main_kind or background or real"),
    ],
)
def test_errors_name_their_line(folder: Path, text: str, line: int, why: str) -> None:
    path = written(folder, text)
    with pytest.raises(InputError, match=why) as caught:
        load_task_file(path)
    assert str(caught.value).startswith(f"{path}:{line}:")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "path", ["../a.png", "/etc/passwd", "kitchen/../../a.png", "link/a.png", "..\\\\a.png", "a\\tb.png"]
)
def test_paths_never_leave_the_folder(folder: Path, path: str) -> None:
    (folder / "link").symlink_to("/")
    text = HEAD + f'- image: "{path}"\n  tasks: [{{rank: 1, text: go}}]\n'
    with pytest.raises(InputError, match="leaves the folder"):
        load_task_file(written(folder, text), files_exist=False)


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("image\n", 1, "# embodied-iqa-tasks 1"),
        ("# embodied-iqa-tasks 1\nimage,rank\n", 2, "wrong columns"),
        (GOOD_CSV + "a.png,1\n", 7, "number of values"),
        (GOOD_CSV + "a.png,,,,9,go,\n", 7, "from 1 to 5"),
        (GOOD_CSV + 'a.png,,,,1,"go,\n', 7, "not CSV"),
        (GOOD_CSV + "kitchen/mug.png,,,,3,go,\n", 7, "listed twice"),
        (LABELLED_CSV.replace("main_kind", "real"), 2, "wrong columns"),
        (LABELLED_CSV.replace("main_kind", "colour"), 2, "then any of main_object,main_kind,background,real"),
        (LABELLED_CSV + "b.png,,,,2,stay,,,,,mug\n", 6, "two main_kind.*cup, as in line 5"),
        (LABELLED_CSV + "b.png,,,,2,stay,,no,,,\n", 6, "two real"),
        (LABELLED_CSV.replace("True", "2"), 5, "bad real"),
    ],
)
def test_csv_errors_name_their_line(folder: Path, text: str, line: int, why: str) -> None:
    path = written(folder, text, "tasks.csv")
    with pytest.raises(InputError, match=why) as caught:
        load_task_file(path)
    assert str(caught.value).startswith(f"{path}:{line}:")


def test_files_that_cannot_be_read(folder: Path) -> None:
    big = folder / "big.yaml"
    big.write_bytes(b"#" * (MOST_YAML_BYTES + 1))
    binary = folder / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    for path, why in ((folder / "none.yaml", "cannot read"), (big, "too large"), (binary, "UTF-8")):
        with pytest.raises(InputError, match=why):
            load_task_file(path)


def test_all_errors_are_listed(folder: Path) -> None:
    image = "- image: {}.png\n  tasks: [{{rank: {}, text: go}}]\n"
    text = HEAD + image.format("x", 1) + image.format("a", 0)
    found, wrong = check_task_file(written(folder, text))
    assert [(str(one.path), one.tasks) for one in found] == [("a.png", ())]
    assert len(wrong) == 2


def test_one_pass_finds_equal_ranks_and_texts_of_tasks_with_other_errors(folder: Path) -> None:
    tasks = "{rank: 1, text: go, verb: fly}, {rank: 1, text: ' '}, {rank: 9, text: Go}, {rank: 2, text: stay}"
    found, wrong = check_task_file(written(folder, HEAD + f"- image: a.png\n  tasks: [{tasks}]\n"))
    words = ("unknown verb", "bad text", "one rank", "bad rank", "comes twice")
    assert all(word in str(error) for word, error in zip(words, wrong, strict=True)), wrong
    assert [task.text for one in found for task in one.tasks] == ["stay"]


def test_a_word_for_a_verb_is_answered_by_its_verb(folder: Path) -> None:
    _, wrong = check_task_file(
        written(folder, HEAD + "- image: a.png\n  tasks: [{rank: 1, text: go, verb: shove}]\n")
    )
    every = ", ".join(Verb)
    said = f"unknown verb; got 'shove'; did you mean push?; available: {every}"
    assert str(wrong[0]).endswith(said)


def test_one_pass_finds_missing_images_of_entries_with_other_errors(folder: Path) -> None:
    """And no error that only follows from another one, such as a task without the rank that is misspelt."""
    entries = (
        "- image: none1.png\n  colour: red\n  tasks: [{rang: 1, text: go}]\n"
        "- image: none2.png\n  tasks: 5\n"
        "- image: none3.png\n  tasks: [go, {rank: [], text: go}]\n"
        "- imge: a.png\n  tasks: [{rank: 9, text: go}]\n"
    )
    _, wrong = check_task_file(written(folder, HEAD + entries))
    line = HEAD.count("\n") + 1
    lines = [int(str(error).partition("tasks.yaml:")[2].partition(":")[0]) for error in wrong]
    assert len(set(lines)) > 2
    assert lines == sorted(lines)
    found = sorted(str(error).partition("tasks.yaml:")[2].partition(";")[0] for error in wrong)
    assert found == sorted(
        f"{line + after}: {what}"
        for after, what in (
            *((after, "no such image or recording in the folder of the file") for after in (0, 3, 5)),
            *((1, "unknown key of an image"), (2, "unknown key of a task"), (4, "tasks is not a list")),
            *((6, "a task is not a mapping"), (6, "rank is not a single value")),
            *((7, "unknown key of an image"), (8, "bad rank")),
        )
    )


def test_all_errors_of_a_task_are_reported_beside_an_unknown_key(folder: Path) -> None:
    tasks = "    - {rank: 9, txt: x, verb: shvoe}\n    - {verb: shvoe}\n    - {text: go, verb: shvoe}\n"
    _, wrong = check_task_file(written(folder, HEAD + f"- image: a.png\n  tasks:\n{tasks}"))
    first = HEAD.count("\n") + 3
    assert sorted(str(error).partition("tasks.yaml:")[2].partition(";")[0] for error in wrong) == [
        f"{first}: bad rank",
        f"{first}: unknown key of a task",
        f"{first}: unknown verb",
        *(
            f"{line}: {what}"
            for line in (first + 1, first + 2)
            for what in ("a task is incomplete", "unknown verb")
        ),
    ]
    assert any("got 'no rank and no text'" in str(error) for error in wrong)


@given(cut=st.integers(0, len(GOOD)), word=st.text(max_size=6))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read_or_refused_in_one_line(folder: Path, cut: int, word: str) -> None:
    text = GOOD[:cut] + word + GOOD[cut:]
    path = folder / "tasks.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    found, wrong = check_task_file(path)
    assert found or wrong
    assert all("\n" not in str(error) for error in wrong)


@pytest.mark.parametrize(("kind", "name"), [("yaml", "tasks.yaml"), ("csv", "tasks.csv")])
def test_documented_examples_are_right(folder: Path, kind: str, name: str) -> None:
    page = ((source_checkout() or Path()) / "docs" / "tasks.md").read_text(encoding="utf-8")
    example = page.partition(f"```{kind}\n")[2].partition("```")[0]
    assert load_task_file(written(folder, example, name), files_exist=False)


def test_the_command_checks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stamp_ns, topic = 1731000000000000000, "/camera/wrist/image_raw"
    (folder / "runs" / "trial.mcap").unlink()
    with TrialWriter(folder / "runs" / "trial.mcap") as writer:
        writer.add_channel(topic, IMAGE_TYPE)
        writer.write(topic, image_to_cdr(np.zeros((2, 2, 3), np.uint8), stamp_ns, "wrist"), stamp_ns)
    assert main(["tasks", "check", str(written(folder, GOOD))]) == 0
    assert "2 images, 3 tasks" in capsys.readouterr().out
    bad = written(folder, GOOD.replace("mug.png", "jug.png").replace("rank: 2", "rank: 7"))
    assert main(["tasks", "check", str(bad)]) == 1
    assert capsys.readouterr().err.count("\n") == 2
    assert (
        main(["tasks", "check", str(written(folder, GOOD.replace("mug.png", "jug.png"))), "--no-files"]) == 0
    )
    words = ["tasks", "check", str(bad), "--no-files", "--topic", "top=/camera/image"]
    assert main(words) == 2, "an option that would do nothing"
    assert "expected it without --no-files" in capsys.readouterr().err
