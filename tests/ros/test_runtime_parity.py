"""One recording through the three drivers: live nodes over DDS, headless and rescoring say the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from embodied_iqa_msgs.msg import ActionChunk as ChunkMessage
from embodied_iqa_msgs.msg import GateLease, ImageQuality, VlmAnswer
from embodied_iqa_msgs.srv import AskVlm
from numpy.typing import NDArray
from sensor_msgs.msg import Image

import fragile_vlm
from embodied_iqa.arm.robot.arm_runner import ArmReport
from embodied_iqa.arm.robot.messages import ArmMode, ArmState, ArmStatus, GripperState
from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import AnswerRecord, ChunkRecord
from embodied_iqa.imaging.distortions import FrameDistorter
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.live.ros.conversion import ns_of, time_of
from embodied_iqa.live.ros.qos import IMAGE
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.inference import Outcome, OutcomeKind
from embodied_iqa.models.subjects.reference import parse_vla, parse_vlm
from embodied_iqa.models.subjects.registry import make_vla, make_vlm
from embodied_iqa.models.subjects.serving.questions import chunk_to_map, observation_from
from embodied_iqa.models.subjects.serving.served import ServedSubject
from embodied_iqa.quality.gate.bounds import Bounds
from embodied_iqa.quality.gate.calibration import GateCalibration
from embodied_iqa.quality.gate.calibration_file import save_calibrations
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.image_statistics import Statistic
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import JudgeChoice, parse_judge
from embodied_iqa.quality.gate.judges import load_judge
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from embodied_iqa.runs.graph.parameters import VlaParameters
from embodied_iqa.runs.offline.headless.cameras import HeadlessCameras
from embodied_iqa.runs.offline.headless.policy import HeadlessPolicy
from embodied_iqa.runs.offline.rescoring import Rescorer, Subjects
from embodied_iqa.runs.trial.deciding import answer
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, Vla, VlaObservation, Vlm, close_subject
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from gate_files import write_gate, write_metric_gate
from policy_bench import T_TOOL, TASK, TOPICS, Bench
from ros_graph import EVERY, RosGraph
from runtime_tape import PERIOD_NS, SNAPSHOT, START_NS, Tape, ideal_cameras
from trial_recording import NOISE, VIEWS, PixelVla
from wire_servers import serving

# --- verdicts -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shot:
    """An image of the top camera, so many frames after the start, and what the gate makes of it."""

    frame: int
    rgb: NDArray[np.uint8]
    judged: Verdict
    words: str = ""

    @property
    def stamp_ns(self) -> int:
        return START_NS + self.frame * PERIOD_NS


def noise(mean: int, width: int = 64, height: int = 48) -> NDArray[np.uint8]:
    spread = np.random.default_rng(mean).integers(-8, 9, (height, width, 3))
    return np.clip(mean + spread, 0, 255).astype(np.uint8)


GOOD, DIM, BLACK = noise(128), noise(50), noise(0)
SHOTS = (
    Shot(0, GOOD, Verdict.PASS),
    Shot(1, DIM, Verdict.PASS, "too dark"),
    Shot(2, DIM, Verdict.PASS, "too dark"),
    Shot(3, DIM, Verdict.HOLD, "too dark"),
    Shot(4, noise(128, 12, 12), Verdict.REJECT, "cannot be measured"),
    Shot(4, GOOD, Verdict.HOLD, "stale: seen before"),
    Shot(2, GOOD, Verdict.HOLD, "stale: 133.3 ms behind"),
    Shot(5, noise(128, 96, 48), Verdict.REJECT, "not calibrated at 96x48"),
    Shot(6, BLACK, Verdict.REJECT, "too dark"),
    Shot(7, GOOD, Verdict.REJECT, "1 of 5 good frames"),
    Shot(20, GOOD, Verdict.PASS),
)


def fitted_shots(words: str) -> tuple[Shot, ...]:
    """Return images for `gate_files`' judges, which hold with these words."""
    return (
        Shot(0, GOOD, Verdict.PASS),
        Shot(1, DIM, Verdict.HOLD, words),
        Shot(2, noise(128, 12, 12), Verdict.REJECT, "cannot be measured"),
        Shot(2, GOOD, Verdict.HOLD, "stale: seen before"),
        Shot(3, noise(128, 96, 48), Verdict.REJECT, "not calibrated at 96x48"),
        Shot(4, BLACK, Verdict.REJECT, "unlike every image of the calibration"),
        *(Shot(k, GOOD, Verdict.REJECT, f"{k - 4} of 5 good frames since: unlike") for k in range(5, 9)),
        Shot(20, noise(110), Verdict.PASS),
        Shot(21, noise(104), Verdict.PASS),
        Shot(22, noise(101), Verdict.HOLD, words),
        Shot(23, noise(100), Verdict.HOLD, words),
    )


Rows = list[tuple[int, Verdict, str]]


def _none(name: str) -> NoReturn:
    raise AssertionError(f"{name} is not in the recording")


@pytest.fixture(scope="module")
def calibration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Any image of 64 x 48 passes that is not too dark."""
    bounds = dict.fromkeys(Statistic, Bounds(-np.inf, -np.inf, np.inf, np.inf))
    bounds[Statistic.EXPOSURE] = Bounds(0.1, 0.3, np.inf, np.inf)
    path = tmp_path_factory.mktemp("gate") / "cameras.yaml"
    save_calibrations([GateCalibration(View.TOP, 64, 48, bounds, 100, "made up")], path)
    return path


def verdicts_live(graph: RosGraph, shots: Sequence[Shot] = SHOTS) -> tuple[Rows, list[GateLease]]:
    leases = graph.subscribe(GateLease, "/gate/lease", EVERY)
    qualities = graph.subscribe(ImageQuality, "/gate/quality", EVERY)
    graph.meet("gate_node")
    publisher = graph.publisher(Image, "/distorted/top/image_raw", IMAGE)

    def show(rgb: NDArray[np.uint8], stamp_ns: int) -> None:
        publisher.publish(image_to_cdr(rgb, stamp_ns, "top"))

    early = iter(range(1, START_NS // 2, PERIOD_NS))
    graph.wait(lambda: bool(leases) or show(GOOD, next(early)), "a gate that sees images")
    for count, shot in enumerate(shots, start=1):
        show(shot.rgb, shot.stamp_ns)
        graph.wait(
            lambda n=count: min(len(_since(box)) for box in (leases, qualities)) >= n, f"verdict {count}"
        )
    rows = [(ns_of(m.header.stamp), Verdict(m.verdict), m.reason) for m in _since(qualities)]
    return rows, _since(leases)


def _since(inbox: object) -> list:
    return [message for message in inbox.messages if ns_of(message.header.stamp) >= START_NS]


def verdicts_headless(gatekeeper: Gatekeeper, shots: Sequence[Shot] = SHOTS) -> Rows:
    by_stamp = {shot.stamp_ns: shot.rgb for shot in reversed(shots)}
    ideal = ideal_cameras(lambda _view, stamp: by_stamp[stamp])
    cameras = HeadlessCameras(ideal, FrameDistorter(None), gatekeeper, 32)
    rows = []
    for shot in shots:
        cameras.take(SNAPSHOT, shot.stamp_ns)
        record, lease = cameras.judge(View.TOP, shot.stamp_ns, shot.stamp_ns + 16_000_000)
        assert lease.expires_ns == shot.stamp_ns + 120_000_000
        rows.append((record.stamp_ns, record.verdict, record.reason))
    return rows


def verdicts_rescored(path: Path, mode: GateMode, subjects: Subjects, shots: Sequence[Shot] = SHOTS) -> Rows:
    tape = Tape(path)
    tape.begin(mode)
    for shot in shots:
        tape.frame(View.TOP, shot.stamp_ns, shot.rgb)
    run = Rescorer(tape.end(shots[-1].stamp_ns), subjects).record().runs[0]
    assert run.gate_mode is mode
    return [(record.stamp_ns, record.verdict, record.reason) for record in run.verdicts]


def by_stamp(rows: Rows) -> Rows:
    """Return rows as a record lists them; of equal stamps the first to arrive comes first."""
    return sorted(rows, key=lambda row: row[0])


@pytest.mark.parametrize("mode", GateMode)
def test_verdicts_are_the_same(mode: GateMode, calibration: Path, ros_domain: int, tmp_path: Path) -> None:
    overrides = {"gate_node.judge.mode": str(mode), "gate_node.calibration": str(calibration)}
    with RosGraph(ros_domain, tmp_path / "graph", ["gate_node"], overrides) as graph:
        graph.activate("gate_node")
        live, leases = verdicts_live(graph)
    judge = load_judge(JudgeChoice(), calibration)
    subjects = Subjects(_none, _none, judge, GateOptions())
    assert verdicts_headless(Gatekeeper(judge, GateOptions(mode=mode))) == live
    assert verdicts_rescored(tmp_path / "trial.mcap", mode, subjects) == by_stamp(live)
    for shot, (stamp_ns, verdict, reason), lease in zip(SHOTS, live, leases, strict=True):
        stale = shot.words.startswith("stale")
        judged = shot.judged if mode is not GateMode.OFF or stale else Verdict.PASS
        assert (stamp_ns, verdict) == (shot.stamp_ns, judged)
        assert shot.words in reason if mode is not GateMode.OFF or stale else not reason
        assert lease.judged == judged
        assert lease.verdict == (judged if mode is GateMode.ON else Verdict.PASS)


@pytest.mark.parametrize(
    ("kind", "write", "words"),
    [
        ("learned", write_gate, "expected loss 0."),
        ("metric:trained:M", write_metric_gate, "trained:M -0."),
    ],
)
def test_verdicts_and_predictions_of_a_fitted_judge_are_the_same(
    kind: str, write: Callable[[Path], Path], words: str, ros_domain: int, tmp_path: Path
) -> None:
    file, shots = write(tmp_path / "gate"), fitted_shots(words)
    overrides = {
        "gate_node.judge.mode": "on", "gate_node.judge.kind": kind, "gate_node.calibration": str(file),
    }  # fmt: skip
    with RosGraph(ros_domain, tmp_path / "graph", ["gate_node"], overrides) as graph:
        graph.activate("gate_node")
        live, leases = verdicts_live(graph, shots)
    options = GateOptions(kind=parse_judge(kind))
    subjects = Subjects(_none, _none, load_judge(options.kind, file), options)
    keeper = Gatekeeper(load_judge(options.kind, file), options)
    assert verdicts_headless(keeper, shots) == live  # the reasons hold the predictions
    assert verdicts_rescored(tmp_path / "trial.mcap", GateMode.ON, subjects, shots) == by_stamp(live)
    for shot, (stamp_ns, verdict, reason), lease in zip(shots, live, leases, strict=True):
        assert (stamp_ns, verdict) == (shot.stamp_ns, shot.judged)
        assert (lease.judged, lease.verdict) == (shot.judged, shot.judged)
        assert shot.words in reason
        assert bool(reason) == (shot.judged is not Verdict.PASS)


# --- decisions and answers ----------------------------------------------------------------------------------


class Policy:
    """A served VLA whose action changes with any pixel, the pose and the gripper; it can be made to fail."""

    def __init__(self) -> None:
        self.behaviour = "acts"

    def answer(self, questions: Sequence[VlaObservation]) -> list[dict[str, object]]:
        return [chunk_to_map(self.act(question)) for question in questions]

    def act(self, observation: VlaObservation) -> ActionChunk:
        if self.behaviour == "raises":
            raise RuntimeError("no weights")
        if self.behaviour == "is malformed":
            return ActionChunk(ChunkStatus.ACT, np.zeros((2, 6)), "six numbers")
        if self.behaviour == "sees nothing":
            return ActionChunk(ChunkStatus.NO_TARGET, np.empty((0, 7)), "sees no red cube")
        return PixelVla().act(observation)

    def served(self) -> ServedSubject:
        return ServedSubject(
            PixelVla().info,
            Role.VLA,
            "",
            lambda message: observation_from(message, VIEWS),
            self.answer,
            batches=False,
        )


def image(view: View, stamp_ns: int) -> NDArray[np.uint8]:
    seed = [stamp_ns, CELL_VIEWS.index(view)]
    return np.random.default_rng(seed).integers(0, 256, (48, 64, 3), dtype=np.uint8)


class NoisyBench(Bench):
    """Shows another image in each frame and view, distorted as in a run."""

    def image(self, view: View, topic: str) -> NDArray[np.uint8]:
        rgb = image(view, self.stamp_ns)
        return rgb if topic == TOPICS[0] else FrameDistorter(NOISE).apply(rgb, view, self.stamp_ns)


@dataclass
class Asked:
    """Live nodes, and the subjects that they ask; the VLM raises while ``broken`` exists."""

    bench: NoisyBench
    policy: Policy
    vla: Vla
    broken: Path


@pytest.fixture(scope="module")
def asked(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    policy, nodes, folder = Policy(), ["vla_node", "vlm_node"], tmp_path_factory.mktemp("graph")
    broken = folder / "broken"
    with serving(policy.served()) as port, pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", str(Path(fragile_vlm.__file__).parent), prepend=os.pathsep)
        environment.setenv(fragile_vlm.BROKEN, str(broken))
        reference = f"openpi://127.0.0.1:{port}"
        overrides = {"vla_node.subject": reference, "vlm_node.subject": fragile_vlm.NAME}
        with RosGraph(ros_domain, folder, nodes, overrides) as graph:
            graph.activate(*nodes)
            vla = make_vla(parse_vla(reference))
            yield Asked(NoisyBench(graph, VIEWS), policy, vla, broken)
            close_subject(vla)


def headless_cameras() -> HeadlessCameras:
    return HeadlessCameras(
        ideal_cameras(image), FrameDistorter(NOISE), Gatekeeper(StatisticsJudge(()), GateOptions()), 8
    )


def decided_headless(vla: Vla, stamp_ns: int) -> tuple[ChunkRecord, ChunkRecord]:
    cameras = headless_cameras()
    cameras.take(SNAPSHOT, stamp_ns)
    policy = HeadlessPolicy(vla, VlaParameters(), cameras)
    policy.set_task(TASK, stamp_ns)
    measured = ArmState(stamp_ns, np.zeros(6), np.zeros(6), GripperState(0.25))
    policy.take_report(ArmReport(measured, ArmStatus(ArmMode.IDLE), False, None, None, 0, 0, T_TOOL))
    decided = policy.decide([(stamp_ns, frozenset())], deciding=False)
    assert decided is not None
    return decided


def tape_of(path: Path, stamp_ns: int, *messages: tuple[str, ChunkMessage | VlmAnswer]) -> Path:
    """Record what the live nodes said of one frame, and its raw images."""
    tape = Tape(path)
    tape.begin(GateMode.OFF, stamp_ns, NOISE)
    for view in VIEWS:
        tape.frame(view, stamp_ns, image(view, stamp_ns))
    for topic, message in messages:
        tape.write(topic, message)
    return tape.end(stamp_ns)


def _bytes(angles: NDArray[np.float64] | None) -> bytes | None:
    return None if angles is None else angles.tobytes()


def assert_same(one: ChunkRecord, other: ChunkRecord) -> None:
    """Equal bit for bit, but for what depends on time or on the decisions before."""
    assert one.increments.tobytes() == other.increments.tobytes()
    assert one.T_base_tool.tobytes() == other.T_base_tool.tobytes()
    for name in ("q_rad", "joints_rad"):
        assert _bytes(getattr(one, name)) == _bytes(getattr(other, name)), name
    arrays = {"increments", "T_base_tool", "q_rad", "joints_rad"}
    for name in set(ChunkRecord.__slots__) - arrays - {"latency_ms", "sequence"}:
        assert getattr(one, name) == getattr(other, name), name


@pytest.mark.parametrize(
    ("behaviour", "status", "words"),
    [
        ("acts", ChunkStatus.ACT, "checksum"),
        ("sees nothing", ChunkStatus.NO_TARGET, "sees no red cube"),
        ("raises", None, "RuntimeError: no weights"),
        ("is malformed", None, "6"),
    ],
)
def test_decisions_are_the_same(
    asked: Asked, tmp_path: Path, behaviour: str, status: ChunkStatus | None, words: str
) -> None:
    asked.policy.behaviour = behaviour
    distorted, raw = asked.bench.decision(asked.bench.begin())
    stamp_ns = ns_of(raw.header.stamp)
    path = tape_of(
        tmp_path / "trial.mcap", stamp_ns, ("/vla/actions", distorted), ("/vla/reference_actions", raw)
    )
    subjects = Subjects(_none, lambda _name: asked.vla, StatisticsJudge(()), GateOptions())
    live, rescored = read_trial(path).runs[0].chunks, Rescorer(path, subjects).record().runs[0].chunks
    headless = {chunk.source: chunk for chunk in decided_headless(asked.vla, stamp_ns)}
    assert [chunk.source for chunk in live] == [Source.DISTORTED, Source.RAW]
    for said, again in zip(live, rescored, strict=True):
        assert_same(said, again)
        assert_same(said, headless[said.source])
        assert (said.status, said.sequence) == (status, again.sequence)
        assert words in said.reason
    if status is ChunkStatus.ACT:
        assert not np.array_equal(live[0].increments, live[1].increments), "images differ"


def ask_live(bench: Bench, source: Source, stamp_ns: int) -> AskVlm.Response:
    request = {"task": TASK, "source": int(source), "stamp": time_of(stamp_ns), "view": "top"}
    return bench.graph.call(AskVlm, "/vlm/ask", **request)


def ask_headless(vlm: Vlm, stamp_ns: int) -> list[Outcome[AnswerRecord]]:
    cameras = headless_cameras()
    cameras.take(SNAPSHOT, stamp_ns)
    return [answer(vlm, cameras.frame(View.TOP, source, stamp_ns), source, TASK) for source in Source]


def test_answers_are_the_same_and_so_is_their_failure(asked: Asked, tmp_path: Path) -> None:
    bench, vlm = asked.bench, make_vlm(parse_vlm(fragile_vlm.NAME))

    def newest() -> int:
        """Show a frame: of older ones vlm_node may have dropped some, or have forgotten them."""
        bench.show()
        return bench.stamp_ns if ask_live(bench, Source.RAW, bench.stamp_ns).success else 0

    stamp_ns = bench.graph.wait(newest, "a frame in vlm_node")
    responses = [ask_live(bench, source, stamp_ns) for source in Source]
    assert all(response.success for response in responses), responses
    answers = (("/vlm/answer", response.answer) for response in responses)
    path = tape_of(tmp_path / "trial.mcap", stamp_ns, *answers)
    subjects = Subjects(lambda _name: vlm, _none, StatisticsJudge(()), GateOptions())
    rescorer = Rescorer(path, subjects)
    live, rescored = rescorer.live.runs[0].answers, rescorer.record().runs[0].answers
    assert not rescorer.failures
    headless = [outcome.result for outcome in ask_headless(vlm, stamp_ns)]
    assert live[0].answer != live[1].answer, "images differ"
    for records in zip(live, rescored, headless, strict=True):
        for name in set(AnswerRecord.__slots__) - {"latency_ms"}:
            assert len({getattr(record, name) for record in records}) == 1, name
    asked.broken.touch()
    failed, reason = Rescorer(path, subjects), "RuntimeError: no weights"
    assert failed.record().runs[0].answers == ()
    assert failed.failures == [f"{fragile_vlm.NAME} failed at {stamp_ns} ns: {reason}"] * len(Source)
    for source, outcome in zip(Source, ask_headless(vlm, stamp_ns), strict=True):
        assert (outcome.kind, outcome.result, outcome.reason) == (OutcomeKind.FAILED, None, reason)
        response = ask_live(bench, source, stamp_ns)
        assert not response.success
        assert response.message == f"{fragile_vlm.NAME} gave no answer: {reason}"
