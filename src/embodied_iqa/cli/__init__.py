"""The `embodied-iqa` command, one file or folder a sub-command.

Each command is a module or a folder. A room that stands beside them:

- `checks`: the checks of `embodied-iqa doctor`

A command has `configure(parser)` and `run(arguments)` and is listed in `COMMANDS` in `main.py`.
"""
