"""Print the scores of a run and the size of its first image: python examples/open_a_run.py runs/ID."""

import sys

import embodied_iqa

if len(sys.argv) != 2:
    sys.exit("usage: python examples/open_a_run.py runs/ID")
run = embodied_iqa.open_run(sys.argv[1])
for scores in run.scores:
    name = "reference" if scores.distortion is None else f"{scores.distortion.id}:{scores.distortion.level}"
    print(f"{scores.task}, {name}: execution {scores.execution.outcome}")
first = next(run.images(view="top")).image
print(f"first image: {first.rgb.shape[1]} x {first.rgb.shape[0]}")
