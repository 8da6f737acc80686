"""Image quality: metrics, and the gate that judges images with them.

Rooms, each of which imports only rooms above it and wings on lower floors:

- `metrics`: image-quality metrics: the interface and the built-in ones; calibration of levels of
  distortions
- `metrics.policy`: policy-feature distance: what a subject sees of a distortion
- `metrics.learned`: learned metrics: what they measure of an image, their files, inference without torch
- `gate`: the quality gate: statistics, calibration, judges, verdicts; `Gatekeeper` judges a frame
- `gate.proxy`: the gate in front of a policy server, without ROS
- `metrics.pyiqa`: metrics of IQA-PyTorch in an environment of its own: worker, fine-tuning
- `metrics.human`: readers of databases of human opinions
- `metrics.training`: training of metrics on the labels of a database; needs torch
- `metrics.catalogue`: every metric by name, whatever it is made of
- `metrics.benchmark`: benchmark of metrics against the scores of a database
- `gate.fitting`: fit of the gate to a policy: labels, networks, thresholds with a promise, their check

A metric is a file in `metrics` and an entry in its `built_in.py`; a judge of the gate is a file in `gate`
and a case in its `judges.py`. A database of human opinions is a reader in `metrics.human`.
"""
