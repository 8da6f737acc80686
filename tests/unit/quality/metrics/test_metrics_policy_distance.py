"""Policy-feature distance: of tiny networks as they are exported, of servers, and of subjects without it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import View, image_frame
from embodied_iqa.models.panel.training import captioners
from embodied_iqa.models.panel.training.captioners import Captioner
from embodied_iqa.models.panel.training.glimpses import Look
from embodied_iqa.models.panel.training.member_training import export_member
from embodied_iqa.models.panel.training.policies import QueryPolicy, SightShape
from embodied_iqa.models.panel.training.training_loop import Network
from embodied_iqa.models.subjects.backends.panel.format import SMALL_PX, Vocabulary
from embodied_iqa.models.subjects.backends.panel.network import PanelNetwork
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.model_card import ModelCard, save_card
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.serving.served import serve_vla
from embodied_iqa.quality.metrics.catalogue import metric_by_name
from embodied_iqa.quality.metrics.metric import Metric, MetricContext
from embodied_iqa.quality.metrics.policy.distance import PolicyDistance, make
from embodied_iqa.quality.metrics.policy.token_maps import map_distance, token_distances, token_statistics
from wire_servers import reference_server, serving

WORDS = Vocabulary.of([["pick", "the", "cube"]]).words
REFERENCE = np.random.default_rng(0).integers(0, 255, (180, 240, 3), dtype=np.uint8)
DARK = REFERENCE // 4


def _shape(encoder: str) -> SightShape:
    return SightShape(encoder, Look.COARSE, context=False, image_px=SMALL_PX)


def _save(folder: Path, name: str, network: Network, views: tuple[View, ...]) -> str:
    file = folder / f"{name}.onnx"
    export_member(network.eval(), len(views), SMALL_PX, file)
    _card(file, views, Role.VLM if isinstance(network, Captioner) else Role.VLA)
    return f"panel:{folder}/{name}"


def _card(file: Path, views: tuple[View, ...], role: Role) -> None:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    answers = WORDS if role is Role.VLM else ()
    save_card(ModelCard(file.stem, role, "tiny", views, digest, WORDS, answers), file.with_suffix(".json"))


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("members")
    with torch.random.fork_rng(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(captioners, "MAX_ANSWER_WORDS", 2)  # the graph has every step of an answer
        torch.manual_seed(0)
        networks: dict[str, tuple[Network, tuple[View, ...]]] = {
            "one": (QueryPolicy(len(WORDS), "gated", _shape("hybrid"), 1), (View.TOP,)),
            "two": (QueryPolicy(len(WORDS), "pooled", _shape("residual"), 2), (View.WRIST, View.TOP)),
            "says": (Captioner(len(WORDS), len(WORDS), "gated", _shape("mixer")), (View.SIDE,)),
        }
        return {name: _save(folder, name, *network) for name, network in networks.items()}


@pytest.mark.parametrize("name", ["one", "two", "says"])
def test_equal_images_are_at_no_distance_and_a_stronger_change_is_further(
    name: str, members: dict[str, str]
) -> None:
    metric = metric_by_name(f"policy-distance:{members[name]}")
    assert isinstance(metric, Metric)
    assert metric.info.name == f"policy-distance:{members[name]}"
    assert metric.measure(REFERENCE, REFERENCE) == pytest.approx(0.0, abs=1e-9)
    noisy = np.clip(REFERENCE.astype(int) + 3, 0, 255).astype(np.uint8)
    assert 0 < metric.measure(noisy, REFERENCE) < metric.measure(DARK, REFERENCE) <= 2


def test_features_are_what_the_encoder_of_the_view_returns(tmp_path: Path) -> None:
    torch.manual_seed(1)
    network = QueryPolicy(len(WORDS), "pooled", _shape("residual"), 2).eval()
    _save(tmp_path, "two", network, (View.WRIST, View.TOP))
    loaded = PanelNetwork(tmp_path, "two")
    image = torch.from_numpy(REFERENCE)[None].permute(0, 3, 1, 2).float() / 255 - 0.5
    for index, view in enumerate((View.WRIST, View.TOP)):
        with torch.no_grad():
            expected = network.image_encoders[index](image)[0].flatten(1).T.numpy()
        found = loaded.features(image_frame(REFERENCE, view))
        assert found.shape == (300, 64)
        np.testing.assert_allclose(found, expected, rtol=2e-2, atol=2e-3)  # weights in half precision
    side = loaded.features(image_frame(REFERENCE, View.SIDE))
    assert np.array_equal(side, loaded.features(image_frame(REFERENCE, View.WRIST)))


def test_the_cameras_of_one_policy_have_features_of_their_own(members: dict[str, str]) -> None:
    metric = make(members["two"])
    wrist, top = (metric.measure(DARK, REFERENCE, MetricContext(view)) for view in (View.WRIST, View.TOP))
    assert wrist != top
    assert metric.measure(DARK, REFERENCE) == wrist


def test_a_member_without_features_gives_one_line(members: dict[str, str], tmp_path: Path) -> None:
    model = onnx.load(members["one"].removeprefix("panel:") + ".onnx")
    kept = [output for output in model.graph.output if not output.name.startswith("features")]
    del model.graph.output[:]
    model.graph.output.extend(kept)
    onnx.save(model, tmp_path / "old.onnx")
    _card(tmp_path / "old.onnx", (View.TOP,), Role.VLA)
    with pytest.raises(InputError, match=r"network of old has no output of features; expected .*train panel"):
        make(f"panel:{tmp_path}/old").measure(DARK, REFERENCE)


def test_subjects_without_features_are_refused_by_name() -> None:
    with pytest.raises(InputError, match="classical-vla shows no features"):
        make("classical-vla")


def test_a_reference_is_needed_and_has_the_size_of_the_image(members: dict[str, str]) -> None:
    metric = make(members["one"])
    with pytest.raises(InputError, match="compares with a reference"):
        metric.measure(DARK)
    with pytest.raises(InputError, match="differ in size"):
        metric.measure(DARK[:90], REFERENCE)


def test_our_server_offers_the_features_of_its_policy(members: dict[str, str]) -> None:
    with serving(serve_vla(parse_vla(members["one"]))) as port:
        metric = make(f"openpi://127.0.0.1:{port}")
        assert metric.measure(DARK, REFERENCE) == make(members["one"]).measure(DARK, REFERENCE)
        metric.close()


def test_other_servers_offer_features_by_the_same_question() -> None:
    def policy(message: dict) -> dict:
        content = message["features_of"]
        assert content["view"] == "top"
        return {"features": content["rgb"].reshape(-1, 3).astype(np.float32)}

    with reference_server({"features": True, "convention": "openvla-bridge"}, policy) as port:
        metric = make(f"openpi://127.0.0.1:{port}")
        expected = map_distance(*(one.reshape(-1, 3).astype(np.float32) for one in (REFERENCE, DARK)))
        assert metric.measure(DARK, REFERENCE) == pytest.approx(expected)
        metric.close()


@pytest.mark.parametrize(
    "answer",
    [{}, {"features": np.zeros(3, np.float32)}, {"features": np.full((2, 2), np.nan)}, {"features": 3}],
)
def test_wrong_features_of_a_server_are_an_error(answer: dict) -> None:
    with reference_server({"features": True, "convention": "openvla-bridge"}, lambda _: answer) as port:
        metric = make(f"openpi://127.0.0.1:{port}")
        with pytest.raises(InputError, match="gives no features"):
            metric.measure(DARK, REFERENCE)
        metric.close()


def test_a_server_that_offers_none_gives_one_line() -> None:
    with reference_server({"name": "plain", "convention": "openvla-bridge"}, lambda _: {}) as port:
        metric = make(f"openpi://127.0.0.1:{port}")
        with pytest.raises(InputError, match=r"offers no features; expected .*features: true"):
            metric.measure(DARK, REFERENCE)
        metric.close()


def test_features_of_a_reference_are_computed_once(
    members: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = make(members["one"])
    seen = []
    real = PanelNetwork.features
    monkeypatch.setattr(PanelNetwork, "features", lambda self, frame: seen.append(1) or real(self, frame))
    first = [metric.measure(image, REFERENCE) for image in (DARK, REFERENCE, DARK)]
    assert len(seen) == 4
    assert first[0] == first[2] == PolicyDistance(metric._subject, "again").measure(DARK, REFERENCE)
    assert metric.measure(DARK, REFERENCE // 2) != first[0]


def test_distances_of_token_maps_are_one_minus_cosines() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(2, 7, 5)).astype(np.float32)
    expected = [1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(first, second, strict=True)]
    np.testing.assert_allclose(token_distances(first, second), expected, rtol=1e-5)
    assert map_distance(first, 3 * first) == pytest.approx(0, abs=1e-6)
    assert map_distance(first, -first) == pytest.approx(2)
    zero = np.zeros((1, 5), np.float32)
    assert token_distances(zero, zero).tolist() == [0.0]
    assert token_distances(zero, first[:1]).tolist() == [1.0]
    with pytest.raises(InputError, match="differ in shape"):
        token_distances(first, second[:3])


def test_statistics_of_token_maps_are_those_of_the_tokens() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(2, 40, 6)).astype(np.float32)
    distances = token_distances(first, second)
    found = token_statistics(first, second)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert found[0] == pytest.approx(map_distance(first, second))
    np.testing.assert_allclose(found[1:3], [distances.mean(), distances.std()], rtol=1e-5)
    assert found[5] == pytest.approx(np.median(distances))
    np.testing.assert_allclose(token_statistics(first, first), 0, atol=1e-6)
