"""The simulated cell: scenes as data, tasks in words, physics and cameras.

Rooms, each of which imports only rooms above it and wings on lower floors:

- `protocols`: what a subject sees and answers: VLMs, VLAs, planners, action chunks
- `tasks`: verbs, vocabulary, instructions, task files
- `manipulation`: grasps, waypoints and action chunks from object poses
- `scenes`: scenes as data: objects, places, cameras, snapshots, scene graph
- `scenes.language`: tasks in natural language: grammar, wording, resolver
- `simulation`: the MuJoCo world, its renderer, experts and rollouts
- `simulation.camera`: the camera model: lens, sensor, exposure control, motion blur

A verb has its words in `tasks`, its waypoints in `manipulation`, its success in `simulation`; an object or
a place goes to `scenes`. What all subjects see or answer goes to `protocols`.
"""
