"""What the proxy shows of itself: images, verdicts and predictions of the last minute."""

from __future__ import annotations

import base64
import http.client
import json
import weakref
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.proxy.gated_policy import Answered, Judged
from embodied_iqa.quality.gate.proxy.live_view import LIVE_PATH, GateLive, png_url
from gated_policies import openvla_proxying, proxying, scene_image, setting
from manual_clock import PATIENCE_S, ManualClock


def answered(value: float | None, verdict: str = "PASS", image: np.ndarray | None = None) -> Answered:
    top = {"verdict": verdict, "reason": "", "value": value, "threshold": 0.3}
    report = {"verdict": verdict, "reason": "", "mode": "on", "views": {"top": top}}
    return Answered((Judged(View.TOP, Verdict[verdict], Verdict[verdict], image=image),), report, 1.0)


def pixels(url: str) -> np.ndarray:
    data = base64.b64decode(url.removeprefix("data:image/png;base64,"))
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)


def test_nothing_is_shown_before_the_first_observation() -> None:
    assert GateLive(ManualClock()).snapshot() == {"answered": 0, "gate": None, "age_s": None, "cameras": {}}


def test_the_last_minute_is_shown_with_the_newest_image() -> None:
    clock = ManualClock()
    live = GateLive(clock)
    for value, image in ((0.1, scene_image(1)), (0.4, scene_image(2)), (None, None)):
        live.look(answered(value, "PASS" if value != 0.4 else "HOLD", image))
        clock.advance(25.0)
    shown = live.snapshot()
    assert (shown["answered"], shown["age_s"], shown["gate"]["mode"]) == (3, 25.0, "on")
    top = shown["cameras"]["top"]
    assert top["points"] == [[50.0, "HOLD", 0.4], [25.0, "PASS", None]], "the first is older than a minute"
    assert np.array_equal(pixels(top["image"]), scene_image(2))
    assert top["age_s"] == 25.0
    clock.advance(60.0)
    silent = live.snapshot()["cameras"]["top"]
    assert (silent["points"], silent["age_s"], silent["image"]) == ([], 85.0, top["image"])
    json.dumps(shown)


def test_a_silent_camera_is_told_from_one_that_goes_on() -> None:
    """Also without an image, and where images of the past are not shown."""
    clock = ManualClock()
    live = GateLive(clock, image_s=2.0)
    live.look(answered(0.1, image=scene_image(1)))
    assert live.snapshot()["cameras"]["top"]["image"]
    for _ in range(70):
        clock.advance(1.0)
        live.add({"views": {}}, {"wrist": ("PASS", None)}, {})
    shown = live.snapshot()
    assert shown["age_s"] == 0.0
    assert {name: one["age_s"] for name, one in shown["cameras"].items()} == {"top": 70.0, "wrist": 0.0}
    assert shown["cameras"]["top"]["image"] is None


class Report(dict[str, Any]):
    """A report that a test can follow."""


def test_reasons_of_any_length_are_kept_of_the_newest_observation_alone() -> None:
    live = GateLive(ManualClock())
    views = {"top": {"verdict": "HOLD", "value": None}}
    followed = []
    for number in range(3):
        report = Report(reason=f"the image {'x' * 100}{number} has no --camera", views=views)
        followed.append(weakref.ref(report))
        live.look(Answered((), report, 1.0))
        del report
    assert [one() is None for one in followed] == [True, True, False]
    assert live.snapshot()["cameras"]["top"]["points"] == [[0.0, "HOLD", None]] * 3


@pytest.mark.parametrize(
    ("size", "shown"), [((48, 64), (48, 64)), ((480, 640), (240, 320)), ((3, 961), (1, 241))]
)
def test_large_images_are_made_smaller(size: tuple[int, int], shown: tuple[int, int]) -> None:
    image = np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8)
    found = pixels(png_url(image))
    assert found.shape[:2] == shown
    step = -(-max(size) // 320)
    assert np.array_equal(found, image[::step, ::step])


@pytest.mark.parametrize("listening", [proxying, openvla_proxying])
def test_a_page_of_another_site_sees_nothing(listening: Any) -> None:
    with listening(setting(), 9) as port:
        for headers, status in (
            ({}, 200),
            ({"Host": "evil.example"}, 403),
            ({"Origin": "http://evil.example"}, 403),
        ):
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
            link.request("GET", LIVE_PATH, headers=headers)
            assert link.getresponse().status == status
            link.close()


@pytest.mark.parametrize("listening", [proxying, openvla_proxying])
def test_it_is_json_and_leaves_the_images_out_on_request(listening: Any) -> None:
    made, live = setting(), GateLive(ManualClock())
    live.look(answered(0.2, image=scene_image(1)))
    with listening(replace(made, live=live.snapshot), 9) as port:
        for query, is_shown in (("", True), ("?images=1", True), ("?images=0", False)):
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
            link.request("GET", LIVE_PATH + query)
            answer = link.getresponse()
            assert answer.headers.get_all("Content-Type") == ["application/json"]
            top = json.loads(answer.read())["cameras"]["top"]
            link.close()
            assert (top["image"] is not None) == is_shown
            assert top["points"] == [[0.0, "PASS", 0.2]]


@pytest.mark.parametrize("listening", [proxying, openvla_proxying])
def test_both_proxies_show_it_to_who_has_the_token(listening: Any) -> None:
    made, live = setting(), GateLive(ManualClock())
    live.look(answered(0.2))
    shown = type(made)(made.judge, made.rules, made.options, live.look, live.snapshot)
    with listening(shown, 9, token="secret") as port:
        for token, status in (("", 401), ("Bearer secret", 200)):
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
            link.request("GET", LIVE_PATH, headers={"Authorization": token} if token else {})
            answer = link.getresponse()
            body = answer.read()
            link.close()
            assert answer.status == status
        assert json.loads(body)["cameras"]["top"]["points"] == [[0.0, "PASS", 0.2]]
