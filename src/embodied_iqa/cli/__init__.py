"""The `embodied-iqa` command, one file a sub-command."""
