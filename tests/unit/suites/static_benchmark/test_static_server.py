"""Questions to a VLM behind a server: what is sent, what is stored, and that nothing is asked twice."""

from __future__ import annotations

import json
from pathlib import Path

from test_static_runs import COUNT, bench_in, evaluate

from chat_server import ChatServer, completion
from embodied_iqa.suites.static_benchmark.asking import Adapter, asked_text


def test_a_server_is_asked_for_a_letter_behind_the_image_at_temperature_0(tmp_path: Path) -> None:
    items = bench_in(tmp_path / "bench")
    with ChatServer() as server:
        server.behave = lambda handler: handler.say(200, completion("I see two things. The answer is **B**."))
        first = evaluate(tmp_path / "bench", "--vlm", server.reference)
        asked = list(server.requests)
        assert evaluate(tmp_path / "bench", "--vlm", server.reference) == first
        assert server.requests == asked
    (subject,) = first["subjects"]
    assert (subject["adapter"], subject["readings"]["letter"]) == (Adapter.LETTER, COUNT)
    assert subject["plain"]["value"] == sum(item.answer == "B" for item in items) / COUNT
    texts = {asked_text(item, Adapter.LETTER) for item in items}
    for request in asked:
        assert request["temperature"] == 0
        (message,) = request["messages"]
        image, text = message["content"]
        assert (message["role"], image["type"], text["type"]) == ("user", "image_url", "text")
        texts.remove(text["text"])
    assert not texts
    files = (tmp_path / "bench" / "results" / "answers").glob("*/clean/*.json")
    stored = [answer["asked"] for file in files for answer in json.loads(file.read_text())["answers"]]
    assert sorted(stored) == sorted(asked_text(item, Adapter.LETTER) for item in items)
