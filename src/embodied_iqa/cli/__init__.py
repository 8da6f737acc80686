"""The `embodied-iqa` command: one module or folder for each sub-command.

The modules without a command are what commands share. One room stands beside them:

- `checks`: the checks of `embodied-iqa doctor`

A command has `configure(parser)` and `run(arguments)` and is listed in `COMMANDS` in `main.py`.
"""
