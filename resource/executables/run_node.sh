#!/bin/sh
# Starts the node that this file is named after. It is installed once for each node as
# <prefix>/lib/embodied_iqa/<node>, where `ros2 run` and launch files look.
# A prefix with a Python of its own (a virtual environment) uses that one; in a colcon workspace it is the
# first python3 on the PATH, which is the environment's where one is active.
folder=$(dirname "$0")
python="$folder/../../bin/python3"
[ -x "$python" ] || python=python3
# Ctrl-C waits until the package handles it: an interpreter that is interrupted while it starts prints a traceback
later="env --block-signal=INT"
$later true 2>/dev/null || later=
exec $later "$python" -m "embodied_iqa.live.nodes.$(basename "$0")" "$@"
