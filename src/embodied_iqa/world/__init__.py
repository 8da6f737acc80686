"""Worlds: the simulated cell (scenes as data, tasks in words, physics, cameras) and LIBERO.

Rooms, each of which imports only rooms above it and wings on lower floors:

- `protocols`: what a subject sees and answers: VLMs, VLAs, planners, action chunks
- `worlds`: what an experiment needs of a world: the protocol of the simulated cell and of LIBERO
- `tasks`: verbs, vocabulary, instructions, task files
- `manipulation`: grasps, waypoints and action chunks from object poses
- `scenes`: scenes as data: objects, places, cameras, snapshots, scene graph
- `scenes.language`: tasks in natural language: grammar, wording, resolver
- `simulation`: the MuJoCo world, its renderer, experts and rollouts
- `simulation.camera`: the camera model: lens, sensor, exposure control, motion blur
- `libero`: LIBERO in an environment of its own: its suites, its worker, a scripted expert

A verb has its words in `tasks`, its waypoints in `manipulation`, its success in `simulation`; an object or
a place goes to `scenes`. Another world is a `World` of `worlds` in a room of its own. What all subjects see
or answer goes to `protocols`.
"""
