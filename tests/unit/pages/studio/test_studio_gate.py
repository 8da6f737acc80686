"""The live page of a gate: without one, with a silent one, and in a real browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from chromium_pipe import Browser, chromium, executable
from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.wire.sockets import Address
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.watch.gate_page import GatePlace
from embodied_iqa.quality.gate.proxy.gated_policy import Answered, Judged
from embodied_iqa.quality.gate.proxy.live_view import GateLive
from gated_policies import covered, proxying, scene_image, setting
from manual_clock import PATIENCE_S, ManualClock
from page_checks import CONTRAST, sticking_out
from studio_client import client_of
from studio_process import threaded_studio
from wire_servers import closed_port

UNTIL = """
new Promise((found, failed) => {{
  const end = performance.now() + {limit_ms};
  (function look() {{
    if ({condition}) found(true);
    else if (performance.now() > end) failed(document.body.innerText);
    else setTimeout(look, 50);
  }})();
}})
"""


def look(live: GateLive, value: float | None, reason: str = "", image: np.ndarray | None = None) -> None:
    verdict = Verdict.REJECT if reason else Verdict.PASS
    top = {"verdict": verdict.name, "reason": reason, "value": value, "threshold": 0.5}
    report = {"verdict": verdict.name, "reason": reason, "mode": "on", "views": {"top": top}}
    live.look(Answered((Judged(View.TOP, verdict, verdict, reason, image),), report, 1.0))


def until(browser: Browser, condition: str) -> None:
    browser.value(UNTIL.format(condition=condition, limit_ms=int(PATIENCE_S * 1000)))


def verdict_of(browser: Browser) -> str:
    """Return the verdict on the first camera."""
    return str(browser.value("document.querySelector('[data-view-verdict]').textContent"))


def only_one_goes_on(browser: Browser, live: GateLive, judged: dict[str, object]) -> None:
    """Show a camera that is silent, first alone and then beside one that passes."""
    silent = "no new image for 30 s"
    assert verdict_of(browser) == silent
    assert browser.value("document.querySelector('[data-image]').className") == "stale"
    report = {"verdict": "PASS", "reason": "", "mode": "on", "expected_loss": None}
    live.add({**report, "views": {"top": judged, "wrist": judged}}, {"wrist": ("PASS", 27.5)}, {})
    until(browser, "document.querySelector('[data-verdict]').textContent === 'no new image of top'")
    assert verdict_of(browser) == silent


def test_without_a_gate_there_is_no_page(tmp_path: Path) -> None:
    client, _ = client_of(tmp_path)
    assert client.get("/gate").status_code == 404
    assert client.get("/gate/live").status_code == 404
    assert "Gate, live" not in client.get("/").text


def test_the_token_of_no_gate_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["studio", "--gate-token-env", "TOKEN"]) == 2
    assert "--gate-token-env needs --live-gate" in capsys.readouterr().err


def test_a_gate_that_does_not_answer_is_reported(tmp_path: Path) -> None:
    client, studio = client_of(tmp_path)
    with closed_port() as port:
        studio.gate = GatePlace(Address("127.0.0.1", port))
        assert client.get("/gate").status_code == 200
        assert "Gate, live" in client.get("/").text
        assert "127.0.0.1" in client.get("/gate/live").json()["silent"]


def test_text_that_is_no_unicode_is_shown(tmp_path: Path) -> None:
    client, studio = client_of(tmp_path)
    live = GateLive(ManualClock())
    look(live, None, "the image \ud800 has no --camera")
    with proxying(replace(setting(), live=live.snapshot), 9) as port:
        studio.gate = GatePlace(Address("127.0.0.1", port))
        answer = client.get("/gate/live")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert b"the image \\ud800 has" in answer.content


def test_a_password_is_not_repeated() -> None:
    with pytest.raises(UsageError, match="wrong --live-gate") as caught:
        GatePlace.of("http://me:secret@gpu:1")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["gpu:8000", "https://gpu:8000", "http://gpu", "http://a@gpu:1", "http://gpu:1/x"]
)
def test_a_wrong_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="wrong --live-gate"):
        GatePlace.of(text)


@pytest.mark.skipif(
    executable() is None, reason="needs a browser: apt-get install chromium (Debian) to look at the pages"
)
def test_the_page_follows_the_gate_in_a_browser(tmp_path: Path) -> None:
    made, live = setting(), GateLive(clock := ManualClock())
    shown = type(made)(made.judge, made.rules, made.options, live.look, live.snapshot)
    studio = Studio.of([tmp_path])
    with (
        proxying(shown, 9) as port,
        threaded_studio(studio) as address,
        chromium(tmp_path / "profile") as browser,
    ):
        studio.gate = GatePlace(Address("127.0.0.1", port))
        browser.size(420, "light", reduced_motion=True)
        browser.open(f"{address}/gate")
        until(browser, "document.querySelector('[data-verdict]').textContent.includes('Waiting')")
        look(live, None)
        until(browser, "document.querySelector('[data-prediction]')?.textContent.includes('0 of 1.')")
        assert (
            browser.value("document.querySelector('[data-mode]').textContent") == "mode: on; observations: 1"
        )
        for part in ("image", "chart"):
            assert browser.value(f"document.querySelector('[data-{part}]').getClientRects().length") == 0
        clock.advance(70.0)
        look(live, 0.1, image=scene_image(1))
        clock.advance(1.0)
        look(live, 0.2, image=scene_image(2))
        until(browser, "document.querySelector('[data-verdict]').textContent === 'PASS'")
        until(browser, "document.querySelector('[data-image]')?.naturalWidth === 64")
        until(browser, "document.querySelector('[data-prediction]').textContent === 'Predicted loss 0.200'")
        track = "document.querySelector('[data-track]').getAttribute('points')"
        assert browser.value(track) == "590.0,72.0 600.0,64.0"
        assert browser.value("document.querySelector('[data-chart]').getClientRects().length") == 1
        scale = browser.value("document.querySelector('[data-scale]').textContent")
        assert scale == "Predicted loss of the last minute, from 0 to 1"
        first = browser.value("document.querySelector('[data-image]').src")
        look(live, 0.9, "<b>top</b>: too dark", covered(scene_image(3)))
        until(browser, "document.querySelector('[data-verdict]').textContent === 'REJECT'")
        until(browser, f"document.querySelector('[data-image]').src !== '{first}'")
        assert (
            browser.value("document.querySelector('[data-view-reason]').textContent")
            == "<b>top</b>: too dark"
        )
        label = browser.value("document.querySelector('[data-plot]').getAttribute('aria-label')")
        assert label == "top: 3 images in the last minute, 1 did not pass"
        assert browser.value(sticking_out(420)) == []
        assert browser.value(CONTRAST) == []
        metric = {"verdict": "PASS", "reason": "", "value": 27.5, "threshold": 30.0}
        report = {"verdict": "PASS", "reason": "", "mode": "on", "expected_loss": None}
        live.look(Answered((), {**report, "views": {"top": metric}}, 1.0))
        until(browser, "document.querySelector('[data-prediction]').textContent === 'Metric 27.500'")
        scale = browser.value("document.querySelector('[data-scale]').textContent")
        assert scale == "Metric, higher is worse, of the last minute, from 0.1 to 30"
        clock.advance(30.0)
        until(browser, "document.querySelector('[data-verdict]').textContent === 'No observation for 30 s'")
        only_one_goes_on(browser, live, metric)
        with closed_port() as gone:
            studio.gate = GatePlace(Address("127.0.0.1", gone))
            until(browser, "document.querySelector('[data-verdict]').textContent.includes('not answer')")
        assert verdict_of(browser) == ""
        assert browser.value("document.querySelector('[data-image]').getClientRects().length") == 0
        assert [event for event in browser.events if event["method"] == "Runtime.exceptionThrown"] == []
