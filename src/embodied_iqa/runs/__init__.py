"""Trials: the state machine, the ROS graph as data, runs without ROS, experiments.

Rooms, each of which imports only rooms above it and wings on lower floors:

- `trial`: the trial as a state machine, questions to subjects, its scores
- `graph`: the ROS graph as data: nodes, parameters, processes
- `cell`: a real cell as it was read: its cameras, its parameter file, its checks
- `offline`: the trial without ROS: headless runs, rescoring; reads the folder of a run
- `offline.headless`: a trial without ROS, as fast as the machine can
- `episodes`: runs in a world that waits for its policy, such as LIBERO
- `experiment`: experiments: plan, runs, scores, comparison of gates
- `peers`: failure detectors of the literature: signals, scores, conformal bands, their comparison

A parameter of a node goes to `graph`, a check of a real cell to `cell`, a rule of a trial to `trial`, a
comparison of many runs to `experiment`, a failure detector of the literature to `peers`.
"""
