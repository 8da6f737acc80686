"""Other benchmarks of the literature, on the same subjects.

Rooms, each of which imports only rooms above it and wings on lower floors:

- `cell_manipulation`: a VLM as planner of low-level actions in the simulated cell, by EmbodiedBench's
  protocol
- `static_benchmark.vla`: expert trajectories and VLAs that are scored against them
- `static_benchmark`: StaticEmbodiedBench: items, their format, subjects' answers, trajectories, scores
- `static_benchmark.making`: draws items of the static benchmark from the simulated cell
- `miqa`: databases of machine-vision quality: published layout, labels, images, splits, stability
- `miqa.building`: labels images with vision models; imports the published files
- `miqa.evaluation`: agreement of metrics with labels of machine vision on held-out images
- `cell_manipulation.planning`: planners in the cell: prompt, parser, loop, results, error classes,
  published numbers

A benchmark from the literature gets a room of its own, with its items, protocol and scores.
"""
