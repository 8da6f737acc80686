#!/usr/bin/env bash
# Sets up the working copy: .venv, pinned packages, system libraries, the interface package.
# With --models also what large models need (torch, transformers), with --browser Chromium for tests of pages.
# VENV=.venv-NAME makes an environment of that name beside .venv.
# Picks a Python 3.11 or 3.12 (PYTHON=... overrides) and hands over to scripts/setup_workspace.py,
# which needs nothing but the standard library.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The wheels' start-up hook marks the environment; a Python started from another one must not see the mark.
if [[ -n "${_ROS_WHEELS_BOOTSTRAP_COMPLETE:-}" ]]; then
    unset _ROS_WHEELS_BOOTSTRAP_COMPLETE LD_LIBRARY_PATH
fi

# -S skips the start-up hook: with nothing to do this takes a tenth of a second.
environment=${VENV:-.venv}
if [[ -x $environment/bin/python ]] && "$environment/bin/python" -EsS scripts/setup_workspace.py --check "$@" 2>/dev/null; then
    exit 0
fi

works() { "$1" -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' >/dev/null 2>&1; }

if [[ -n "${PYTHON:-}" ]]; then
    if ! works "$PYTHON"; then
        command -v "$PYTHON" >/dev/null || { echo "set-up: PYTHON=$PYTHON: no such command" >&2; exit 1; }
        found=$("$PYTHON" --version 2>&1 | head -n 1) || true
        echo "set-up: PYTHON must be Python 3.11 or 3.12; got $PYTHON ($found)" >&2
        exit 1
    fi
    exec "$PYTHON" -Es scripts/setup_workspace.py "$@"
fi

for candidate in python3 python3.12 python3.11 python; do
    if works "$candidate"; then
        exec "$candidate" -Es scripts/setup_workspace.py "$@"
    fi
done
echo "set-up: no Python 3.11 or 3.12 on the PATH; install one or name it: make setup PYTHON=/path/to/python3.12" >&2
exit 1
