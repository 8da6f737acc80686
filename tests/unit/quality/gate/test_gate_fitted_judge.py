"""The fitted judges: their verdicts, their reasons, and that whatever fails lets no image pass."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from embodied_iqa.api.gate import Gate
from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.arm.robot.leases import LeaseBook
from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.bounds import Bounds
from embodied_iqa.quality.gate.calibration_file import load_gate_file, save_calibrations
from embodied_iqa.quality.gate.fitted import Networks, Ordinary
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.image_statistics import Statistic
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import JudgeChoice, JudgeKind, Judgement, parse_judge
from embodied_iqa.quality.gate.judges import load_judge
from embodied_iqa.quality.gate.second_stage import Prediction
from embodied_iqa.quality.metrics.catalogue import metric_by_name
from embodied_iqa.quality.metrics.learned import inputs
from embodied_iqa.quality.metrics.policy.distance import PolicyDistance
from gate_files import HEIGHT_PX, THRESHOLD, WIDTH_PX, calibration, write_gate, write_network
from gate_policy import BrightVla

LEARNED = JudgeChoice(JudgeKind.LEARNED)
MS = 1_000_000
TIMES = LeaseOptions(ttl_s=0.12)
PERIOD_NS = 66 * MS
PASS, HOLD, REJECT = Verdict


def image(mean: int, width: int = WIDTH_PX, height: int = HEIGHT_PX) -> NDArray[np.uint8]:
    spread = np.random.default_rng(mean).integers(-8, 9, (height, width, 3))
    return np.clip(mean + spread, 0, 255).astype(np.uint8)


GOOD, DIM = image(128), image(50)


def judged(file: Path, rgb: NDArray[np.uint8] | None, view: View = View.TOP) -> Judgement:
    return Gatekeeper(load_judge(LEARNED, file), GateOptions()).judge_alone(view, rgb)


def test_an_image_is_held_for_its_expected_loss_and_the_reason_names_what_moved(tmp_path: Path) -> None:
    file = write_gate(tmp_path)
    good, dim = judged(file, GOOD), judged(file, DIM)
    assert (good.verdict, good.reason) == (PASS, "")
    assert dim.verdict is HOLD
    red = 1 - DIM[..., 0].mean() / 255
    assert dim.prediction is not None
    assert dim.prediction.value == pytest.approx(red, abs=0.01)
    assert dim.prediction.wrong_motion == pytest.approx(red / 2, abs=0.01)
    assert dim.prediction.threshold == THRESHOLD
    assert dim.reason == (
        f"expected loss {dim.prediction.value:.3f} above 0.600, "
        f"probability of a wrong motion {dim.prediction.wrong_motion:.2f}: "
        f"{calibrated_words(dim)}"
    )
    assert good.prediction is not None
    assert good.prediction.value < THRESHOLD


def test_the_networks_may_see_the_features_of_a_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = ("bright-vla",)
    monkeypatch.setattr(inputs, "_distance", lambda name: PolicyDistance(BrightVla(), name))
    names = (("loss", 1.0), ("wrong", 0.5))
    files = (write_network(tmp_path / "gate" / name, share, subjects=policy) for name, share in names)
    with_features = write_gate(tmp_path / "features", networks=None)
    content = yaml.safe_load(with_features.read_text())
    content["fitted"][0]["networks"] = unstructure(Networks(*files))
    (tmp_path / "gate.yaml").write_text(yaml.safe_dump(content))
    found = judged(tmp_path / "gate.yaml", DIM)
    assert found.verdict is HOLD
    assert found.prediction is not None
    assert found.prediction.value == pytest.approx(1 - DIM[..., 0].mean() / 255, abs=0.01)
    assert judged(tmp_path / "gate.yaml", GOOD).verdict is PASS

    mixed = write_network(tmp_path / "gate" / "wrong", 0.5)
    content["fitted"][0]["networks"]["wrong_motion"] = unstructure(mixed)
    (tmp_path / "gate.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(InputError, match="one input"):
        load_judge(LEARNED, tmp_path / "gate.yaml")


def calibrated_words(judgement: Judgement) -> str:
    assert judgement.statistics is not None
    return Bounds(0.1, 0.3, np.inf, np.inf).explain(Statistic.EXPOSURE, judgement.statistics.exposure)


def test_where_nothing_is_unusual_the_reason_names_the_nearest_statistic(tmp_path: Path) -> None:
    usual = calibration(exposure=Bounds(0.0, 0.1, 0.9, 1.0), noise=Bounds(-9.0, -9.0, 90.0, 99.0))
    reason = judged(write_gate(tmp_path, (usual,)), DIM).reason
    assert "no statistic is unusual, nearest to its bound is exposure 0.19" in reason
    assert reason.endswith("to 0.100: too dark")


def test_an_image_in_which_nothing_is_unusual_is_predicted_like_a_clean_one(tmp_path: Path) -> None:
    usual = calibration(exposure=Bounds(0.0, 0.1, 0.9, 1.0))
    limits = Ordinary(0.25, 0.05)
    held = judged(write_gate(tmp_path / "no limit", (usual,)), DIM)
    passed = judged(write_gate(tmp_path / "limit", (usual,), ordinary=limits), DIM)
    assert (held.verdict, passed.verdict) == (HOLD, PASS)
    assert passed.prediction == Prediction(0.25, THRESHOLD, 0.05)
    assert load_gate_file(tmp_path / "limit" / "gate.yaml").fitted[0].ordinary == limits

    assert (passed.by_limit, judged(tmp_path / "limit" / "gate.yaml", GOOD).by_limit) == (True, False)

    unusual = judged(write_gate(tmp_path / "unusual", ordinary=limits), DIM)
    assert unusual.prediction == held.prediction
    assert unusual.verdict is HOLD, "too dark for the camera"
    good = judged(write_gate(tmp_path / "better", (usual,), ordinary=Ordinary(0.9, 0.9)), GOOD)
    assert good.prediction is not None
    assert good.prediction.value < 0.9, "a limit raises no prediction"
    assert Ordinary(0.2).limited(0.5, None) == (0.2, None), "a metric predicts no probability"


def test_one_frame_above_the_threshold_shuts_the_gate_at_once(tmp_path: Path) -> None:
    keeper = Gatekeeper(load_judge(LEARNED, write_gate(tmp_path)), GateOptions())
    images = [GOOD, GOOD, DIM, *[GOOD] * 5]
    seen = [keeper.judge(View.TOP, k * PERIOD_NS, rgb, k * PERIOD_NS) for k, rgb in enumerate(images)]
    assert [lease.verdict for _, lease in seen] == [PASS, PASS, *[HOLD] * 5, PASS]
    assert all(quality.prediction is not None for quality, _ in seen)


@pytest.mark.parametrize(
    ("rgb", "view", "words"),
    [
        (None, View.TOP, "cannot be measured"),
        (image(128, 15, 48), View.TOP, "cannot be measured"),
        (image(128, 96, 48), View.TOP, "not calibrated at 96x48"),
        (GOOD, View.SIDE, "the side camera is not calibrated"),
        (np.zeros((HEIGHT_PX, WIDTH_PX, 3), np.uint8), View.TOP, "unlike every image of the calibration: "),
    ],
)
def test_the_guard_rejects_what_no_network_has_seen(
    tmp_path: Path, rgb: NDArray[np.uint8] | None, view: View, words: str
) -> None:
    found = judged(write_gate(tmp_path), rgb, view)
    assert (found.verdict, found.prediction) == (REJECT, None)
    assert words in found.reason


def test_a_camera_without_a_fit_is_judged_by_its_statistics(tmp_path: Path) -> None:
    usual = calibration(exposure=Bounds(0.1, 0.3, np.inf, np.inf))
    file = write_gate(tmp_path, (usual, replace(usual, view=View.SIDE)))
    assert judged(file, GOOD, View.SIDE).verdict is PASS
    dim = judged(file, DIM, View.SIDE)
    assert (dim.verdict, dim.prediction, dim.at_once) == (HOLD, None, False)
    assert dim.reason.startswith("exposure 0.19")
    gate = Gate(file, judge="learned")
    assert gate.judge(GOOD, "top").reason == ""
    said = f"no fit of the judge learned for side {WIDTH_PX}x{HEIGHT_PX}: judged by statistics"
    assert gate.judge(GOOD, "side").reason == said
    assert Gate(file).judge(GOOD, "side").reason == ""


# --- fails closed -------------------------------------------------------------------------------------------


def test_a_prediction_that_is_not_a_number_is_rejected(tmp_path: Path) -> None:
    file = write_gate(tmp_path)
    content = yaml.safe_load(file.read_text())
    broken = write_network(tmp_path / "gate" / "loss", 1.0, nan=True)
    content["fitted"][0]["networks"]["loss"]["card_sha256"] = broken.card_sha256
    file.write_text(yaml.safe_dump(content))
    found = judged(file, GOOD)
    assert (found.verdict, found.reason) == (REJECT, "the prediction is not a number")


@pytest.mark.parametrize("name", ["network.onnx", "card.json"])
def test_without_its_networks_there_is_no_judge(tmp_path: Path, name: str) -> None:
    file = write_gate(tmp_path)
    (tmp_path / "gate" / "loss" / name).unlink()
    with pytest.raises(InputError, match="loss"):
        load_judge(LEARNED, file)


def test_a_file_that_was_copied_without_its_folder_says_so(tmp_path: Path) -> None:
    copied = write_gate(tmp_path).rename((tmp_path / "alone").with_suffix(".yaml"))
    (tmp_path / "gate").rename(tmp_path / "there")
    with pytest.raises(InputError, match=f"expected {tmp_path / 'gate'}/, copied with the file"):
        load_judge(LEARNED, copied)


def test_a_network_of_another_fit_is_refused(tmp_path: Path) -> None:
    file = write_gate(tmp_path)
    write_network(tmp_path / "gate" / "loss", 0.1)
    with pytest.raises(InputError, match="not the network of the fit"):
        load_judge(LEARNED, file)


def test_a_damaged_network_is_refused(tmp_path: Path) -> None:
    file, network = write_gate(tmp_path), tmp_path / "gate" / "loss" / "network.onnx"
    network.write_bytes(network.read_bytes()[:-1])
    with pytest.raises(InputError, match="not the one of its card"):
        load_judge(LEARNED, file)


def test_a_network_of_another_version_of_the_statistics_is_refused(tmp_path: Path) -> None:
    file, card = write_gate(tmp_path), tmp_path / "gate" / "loss" / "card.json"
    content = json.loads(card.read_text())
    card.write_text(json.dumps(content | {"input_version": "statistics 0 240x180"}))
    with pytest.raises(InputError, match="measured otherwise"):
        load_judge(LEARNED, file)


@pytest.mark.parametrize("kind", ["learned", "metric:piqe"])
def test_a_file_without_a_fit_of_the_judge_is_refused(tmp_path: Path, kind: str) -> None:
    save_calibrations([calibration()], tmp_path / "gate.yaml")
    with pytest.raises(InputError, match=f"no fit of the judge {kind}"):
        load_judge(parse_judge(kind), tmp_path / "gate.yaml")


@dataclass
class Broken:
    """A judge that fails, or takes its time."""

    clock_ns: int = 0
    takes_ns: int = 0

    def judge(self, view: View, rgb: NDArray[np.uint8] | None) -> Judgement:
        del view, rgb
        self.clock_ns += self.takes_ns
        if not self.takes_ns:
            raise MemoryError("no memory\nfor the network")
        return Judgement(PASS, "", prediction=Prediction(0.0, THRESHOLD))


@pytest.mark.parametrize("mode", [GateMode.ON, GateMode.SHADOW])
def test_a_judge_that_raises_rejects_the_image(mode: GateMode) -> None:
    quality, lease = Gatekeeper(Broken(), GateOptions(mode=mode)).judge(View.TOP, MS, GOOD, MS)
    assert quality.verdict is REJECT
    assert lease.judged is REJECT
    assert quality.reason == "the judge failed: no memory"


@pytest.mark.parametrize(("takes_ms", "verdict"), [(119, PASS), (121, HOLD)])
def test_a_pass_of_a_judge_that_is_too_slow_moves_nothing(takes_ms: int, verdict: Verdict) -> None:
    judge = Broken(1000 * MS, takes_ms * MS)
    _, lease = Gatekeeper(judge, GateOptions(lease=TIMES)).judge(View.TOP, 1000 * MS, GOOD, 1000 * MS)
    book = LeaseBook().with_leases([lease], judge.clock_ns, TIMES)
    assert book.permission((View.TOP,), judge.clock_ns).verdict is verdict


def test_a_judge_that_was_killed_leaves_a_lease_that_runs_out(tmp_path: Path) -> None:
    keeper = Gatekeeper(load_judge(LEARNED, write_gate(tmp_path)), GateOptions(lease=TIMES))
    _, lease = keeper.judge(View.TOP, 1000 * MS, GOOD, 1000 * MS)
    book = LeaseBook().with_leases([lease], 1016 * MS, TIMES)
    assert book.permission((View.TOP,), 1119 * MS).verdict is PASS
    assert book.permission((View.TOP,), 1121 * MS).verdict is not PASS


# --- names, files, metrics ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["statistics", "learned", "metric:piqe"])
def test_a_judge_has_one_name(text: str) -> None:
    assert str(parse_judge(text)) == text


@pytest.mark.parametrize("text", ["", "metric:", "metric: ", "psnr", "metrics:piqe"])
def test_other_judges_are_unknown(text: str) -> None:
    with pytest.raises(UsageError, match="unknown judge"):
        parse_judge(text)


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = write_gate(tmp_path, check={"risk": 0.02, "srcc": None}, provenance={"seed": "0"})
    first = load_gate_file(file)
    save_calibrations(first.cameras, file, first.fitted)
    assert load_gate_file(file) == first
    assert first.fitted[0].check == {"risk": 0.02, "srcc": None}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"threshold": float("inf")}, "threshold"),
        ({"judge": "statistics"}, "statistics need no fit"),
        ({"seen": {"noise": [0.0, 1.0]}}, "wrong ranges"),
        ({"loss": "all"}, "unknown word"),
        ({"more": 1}, "unknown keys more"),
    ],
)
def test_a_wrong_fit_is_refused(tmp_path: Path, change: dict[str, object], words: str) -> None:
    file = write_gate(tmp_path)
    content = yaml.safe_load(file.read_text())
    content["fitted"][0] |= change
    file.write_text(yaml.safe_dump(content))
    with pytest.raises(InputError, match=words):
        load_gate_file(file)


def test_a_metric_judges_by_its_threshold_and_its_own_direction(tmp_path: Path) -> None:
    metric = metric_by_name("piqe")
    good, dim = (-metric.info.sign * metric.measure(rgb) for rgb in (GOOD, DIM))
    assert good != dim
    file = write_gate(tmp_path, judge="metric:piqe", networks=None, threshold=(good + dim) / 2)
    gate = Gate(file, GateOptions(kind=parse_judge("metric:piqe")))
    verdicts = {rgb.mean(): gate.judge(rgb, "top", k * MS) for k, rgb in enumerate((GOOD, DIM))}
    worse = verdicts[(GOOD if good > dim else DIM).mean()]
    assert [verdict.frame_verdict for verdict in verdicts.values()].count(HOLD) == 1
    assert worse.frame_verdict is HOLD
    assert worse.reason.startswith("piqe ")


def test_a_metric_that_needs_a_reference_cannot_judge(tmp_path: Path) -> None:
    file = write_gate(tmp_path, judge="metric:psnr", networks=None)
    with pytest.raises(UsageError, match="undistorted"):
        load_judge(parse_judge("metric:psnr"), file)


def test_the_check_of_images_takes_a_judge_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, folder = write_gate(tmp_path), tmp_path / "top"
    folder.mkdir()
    for name, rgb in (("a", GOOD), ("b", DIM)):
        write_image(folder / f"{name}.png", rgb)
    arguments = ["gate", "check", str(folder), "--view", "top", "--calibration", str(file), "--json"]
    assert main([*arguments, "--judge", "learned"]) == 0
    images = json.loads(capsys.readouterr().out)["images"]
    assert [one["verdict"] for one in images] == ["pass", "hold"]
    assert "expected loss" in images[1]["reason"]
    assert main([*arguments[:-1], "--judge", "learned"]) == 0
    assert capsys.readouterr().err.endswith(f" --calibration {file} --judge learned\n")


def test_the_check_of_images_names_the_cameras_that_statistics_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = calibration()
    file = write_gate(tmp_path, (usual, replace(usual, view=View.SIDE)))
    (tmp_path / "side").mkdir()
    write_image(tmp_path / "side" / "a.png", GOOD)
    arguments = ["gate", "check", str(tmp_path / "side"), "--view", "side", "--calibration", str(file)]
    main([*arguments, "--judge", "learned", "--json"])
    shown = capsys.readouterr()
    size = f"side {usual.width_px}x{usual.height_px}"
    assert json.loads(shown.out)["by_statistics"] == [size]
    assert f"note: no fit of the judge learned for {size}: judged by statistics" in shown.err


def test_the_check_of_images_repeats_the_advice_of_the_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_gate(tmp_path, advice="this threshold holds nothing")
    (tmp_path / "top").mkdir()
    write_image(tmp_path / "top" / "a.png", GOOD)
    arguments = ["gate", "check", str(tmp_path / "top"), "--view", "top", "--calibration", str(file)]
    assert main([*arguments, "--judge", "learned"]) == 0
    note = f"note: top {WIDTH_PX}x{HEIGHT_PX}: this threshold holds nothing"
    assert note in capsys.readouterr().err.splitlines()
    assert main(arguments) == 0
    assert "holds nothing" not in capsys.readouterr().err, "statistics judge"
    write_image(tmp_path / "top" / "a.png", GOOD[::2, ::2])
    main([*arguments, "--judge", "learned"])
    assert "holds nothing" not in capsys.readouterr().err, "of another size"
