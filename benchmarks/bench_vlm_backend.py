"""What our back end adds to a VLM: the same tiny model asked by us and by a bare loop of transformers.

The model is made from configuration, has random weights and writes a fixed number of words, so that what is
around the model is what differs. Both sides take turns in one run; compare the ratio, not the milliseconds.

python benchmarks/bench_vlm_backend.py --json build/bench_vlm_backend.json
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "tests"))

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.models.subjects.answer_cache import AnswerCache, CachedVlm
from embodied_iqa.models.subjects.inference import InferenceQueue
from embodied_iqa.models.subjects.prompt import DEFAULT_PROMPT, prompt_of
from embodied_iqa.models.subjects.reference import parse_vlm
from embodied_iqa.models.subjects.registry import make_vlm
from embodied_iqa.models.subjects.subject_options import CacheOptions, DecodingOptions, VlmOptions
from tiny_vlms import save_tiny

TASK = "pick the red cube"
TOKENS = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", default="qwen2_5_vl", help="family of the model")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        numbers = measure(Path(folder), arguments.kind, arguments.rounds)
    for name, value in numbers.items():
        print(f"{name:<34} {value:9.3f}")
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(numbers, indent=2))


def measure(folder: Path, kind: str, rounds: int) -> dict[str, float]:
    """Milliseconds and ratios; medians over the rounds."""
    checkpoint = save_tiny(kind, folder / "model")
    options = VlmOptions(
        cache=CacheOptions(enabled=False), decoding=DecodingOptions(max_new_tokens=TOKENS, batch=8)
    )
    began = time.perf_counter()
    vlm: Any = make_vlm(parse_vlm(f"transformers:{checkpoint}"), options)
    load_ms = 1e3 * (time.perf_counter() - began)
    frames = [frame_of(seed) for seed in range(8)]
    bare = bare_loop(checkpoint)
    cached = CachedVlm(vlm, AnswerCache(folder / "answers", 10_000_000))
    cached.answer(frames[0], TASK)

    def answers(batch: Sequence[Frame]) -> list[Any]:
        return [vlm.answer(frame, TASK) for frame in batch]

    queue = InferenceQueue("bench", answers, limit=4)
    times = alternate(
        {
            "bare": lambda: bare(frames[0]),
            "ours": lambda: vlm.answer(frames[0], TASK),
            "ours_in_worker": lambda: queue.ask(frames[0], deadline_s=60.0),
            "ours_batch_of_8": lambda: vlm.answer_batch([(frame, TASK) for frame in frames]),
            "from_cache": lambda: cached.answer(frames[0], TASK),
        },
        rounds,
    )
    queue.close()
    numbers = {"load_ms": load_ms} | {f"{name}_ms": value for name, value in times.items()}
    return numbers | {
        "ours_over_bare": times["ours"] / times["bare"],
        "overhead_ms": times["ours"] - times["bare"],
        "batch_speed_up": 8 * times["ours"] / times["ours_batch_of_8"],
        "cache_speed_up": times["ours"] / times["from_cache"],
    }


def alternate(sides: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median milliseconds of each side; all sides take turns, so that a busy machine slows all."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(rounds + 2):
        for name, ask in sides.items():
            began = time.perf_counter()
            ask()
            if turn >= 2:
                found[name].append(1e3 * (time.perf_counter() - began))
    return {name: float(np.median(values)) for name, values in found.items()}


def bare_loop(checkpoint: Path) -> Callable[[Frame], str]:
    """The loop of transformers' documentation."""
    processor = transformers.AutoProcessor.from_pretrained(checkpoint)
    model = transformers.AutoModelForMultimodalLM.from_pretrained(checkpoint).eval()

    def ask(frame: Frame) -> str:
        image = {"type": "image", "image": Image.fromarray(frame.rgb)}
        words = {"type": "text", "text": prompt_of(DEFAULT_PROMPT, TASK, 10)}
        inputs = processor.apply_chat_template(
            [{"role": "user", "content": [image, words]}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )
        with torch.inference_mode():
            output = model.generate(**inputs, max_new_tokens=TOKENS, do_sample=False)
        answer: str = processor.batch_decode(
            output[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True
        )[0]
        return answer

    return ask


def frame_of(seed: int) -> Frame:
    rgb = np.random.default_rng(seed).integers(0, 256, (480, 640, 3), dtype=np.uint8)
    return Frame(View.TOP, seed, rgb, Intrinsics(640, 480, 1.0, 1.0, 0.0, 0.0), np.eye(4))


if __name__ == "__main__":
    main()
