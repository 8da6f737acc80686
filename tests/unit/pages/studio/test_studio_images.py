"""Stored images in the studio: recordings, data sets, videos, folders; what cannot be read is listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.cli.main import main
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr
from embodied_iqa.imaging.images.stored_images import StoredImage
from embodied_iqa.pages.studio import server
from embodied_iqa.pages.studio.browse import stored_page
from embodied_iqa.pages.studio.browse.browser_images import webp
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.sources import Sources
from lerobot_samples import TASKS, TOP, write_dataset
from studio_client import client_of
from trial_recording import image, type_store

EYE, COUNT = "/robot/eye/image", 30


def write_bag(path: Path, damaged: int | None = None) -> Path:
    with TrialWriter(path, types=type_store()) as writer:
        writer.add_channel(EYE, IMAGE_TYPE)
        for number in range(COUNT):
            cdr = image_to_cdr(image(View.TOP, number), 10**18 + number)
            writer.write(EYE, cdr[:80] if number == damaged else cdr, 10**18 + number)
    return path


def images_in(text: str) -> int:
    return text.count('<img class="stored"')


def test_a_recording_is_shown_page_by_page(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag.mcap", damaged=25)
    client, _ = client_of(bag)
    assert 'href="/images/bag.mcap"' in client.get("/").text
    first = client.get("/images/bag.mcap").text
    assert f"<bdi>{EYE}</bdi></strong>: {COUNT} images" in first
    assert images_in(first) == stored_page.PER_PAGE
    second = client.get("/images/bag.mcap", params={"topic": EYE, "page": "2"}).text
    assert images_in(second) == COUNT - stored_page.PER_PAGE - 1
    assert "cannot be read" in second
    for number in (29, 0):  # on, and back to the start
        answer = client.get(f"/images/bag.mcap/{number}", params={"topic": EYE})
        assert answer.content == webp(image(View.TOP, number))
    for number, status in ((25, 404), (COUNT, 404), (10**9, 404)):
        assert client.get(f"/images/bag.mcap/{number}", params={"topic": EYE}).status_code == status
    assert client.get("/images/bag.mcap", params={"topic": "/other"}).status_code == 404
    assert client.get("/images/bag.mcap", params={"page": "0"}).status_code == 400


def test_every_source_is_listed_and_what_cannot_be_read_with_its_reason(tmp_path: Path) -> None:
    write_bag(tmp_path / "bag.mcap")
    (tmp_path / "stray.mcap").write_bytes(b"cut short")
    write_dataset(tmp_path / "set")
    write_image(tmp_path / "photos/one.png", image(View.TOP, 1))
    (tmp_path / "notes").mkdir()
    client, studio = client_of(tmp_path)
    assert [source.name for source in studio.sources.all()] == ["bag.mcap", "photos", "set", "stray.mcap"]
    home = client.get("/").text
    assert "<strong>stray.mcap</strong> cannot be read" in home
    assert 'href="/images/stray.mcap"' not in home
    assert client.get("/images/stray.mcap").status_code == 400
    page = client.get("/images/set", params={"topic": TOP}).text
    assert TASKS[0] in page
    photo = next(one for one in open_frames(tmp_path / "photos").images() if isinstance(one, StoredImage))
    assert photo.title in client.get("/images/photos").text


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no images")
    with pytest.raises(InputError, match="is not a folder; expected a database, a run, a recording"):
        Sources([tmp_path / "notes.txt"])


def test_a_wrong_folder_is_left_out_and_the_others_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served: list[tuple[str, ...]] = []

    def serve(studio: Studio, *_: object) -> None:
        served.append(tuple(source.name for source in studio.sources.all()))

    monkeypatch.setattr(server, "serve", serve)
    write_image(tmp_path / "photos/one.png", image(View.TOP, 1))
    wrong = str(tmp_path / "nofolder")
    assert main(["studio", str(tmp_path / "photos"), wrong]) == 0
    assert served == [("photos",)]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"embodied-iqa: left out: {wrong} is not a folder; expected ")
    assert main(["studio", wrong, wrong]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"embodied-iqa: {wrong} is not a folder; expected ")
    assert len(served) == 1


def test_a_given_folder_with_nothing_to_show_is_named_with_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "serve", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    write_image(tmp_path / "photos/one.png", image(View.TOP, 1))
    for name in ("results", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "results/report.html").touch()
    assert main(["studio", "photos", "results", "empty"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "note: results holds nothing that the studio shows: open results/report.html",
        "note: empty holds nothing that the studio shows: what is written there later is shown",
    ]
    monkeypatch.chdir(tmp_path / "empty")
    assert main(["studio"]) == 0
    assert not capsys.readouterr().err
