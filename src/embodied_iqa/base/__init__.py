"""The ground: errors, files, configuration, worker processes, kinematics.

Rooms, each of which imports only rooms above it and wings on lower floors:

- `errors`: the two kinds of errors: user-correctable ones, reported in one line, and bugs
- `units`: constants of units: nanoseconds per second
- `clock`: time as an argument: a monotonic clock and the waits that it limits
- `deadline`: ends the process in time, also where native code never returns
- `termination`: SIGTERM like Ctrl-C, for commands that have something to undo
- `scheduling`: the scheduling of threads, kept from libraries that change it
- `lazy`: imports on first use: commands, back ends, optional libraries
- `pins`: reads pinned requirements
- `resources`: finds configuration, requirements and the source checkout
- `user_code`: the user's own code, named `python:module:name`
- `plugins`: parts of other installed distributions, found by their entry points
- `files`: atomic writing of files
- `user_folders`: folders of the user: measurements and caches
- `tables`: tables in Parquet files, rows of which are dataclasses
- `locks`: exclusive locks of files
- `user_files`: reads the YAML and JSON files that people write, strictly
- `states`: `replace` for frozen dataclasses that are replaced often
- `records`: frozen dataclasses to plain data (JSON, YAML) and back, checked
- `number_range`: ranges of numbers that parameters and options take
- `config`: parameters: declared once as dataclasses, read from YAML, checked
- `workers`: pools of worker processes that end with their parent
- `worker_process`: a worker in an environment of its own: requests, answers, deadlines
- `kept`: what takes long to open, kept open by its owner: renderers, models
- `jobs`: long work in a folder: its plan, its lock, and the processes that run its jobs, also on Ray
- `onnx_session`: networks in ONNX Runtime, on one thread
- `training`: training of networks with torch: the loop, its checkpoints, the ONNX writer
- `progress`: progress bars of long work
- `memory`: memory of large arrays, reused by the allocator
- `kinematics`: UR arms and SE(3): forward and inverse kinematics, collision, singularities

What several wings need, and what knows nothing of images, subjects or ROS, goes here.
"""
