#!/usr/bin/env bash
# Makes .venv-pyiqa, the environment of IQA-PyTorch (pyiqa): PolyForm Noncommercial, two OpenCVs, no part of .venv.
# CPU=1 takes the CPU build of PyTorch. Nothing but packages is downloaded; weights are yours to get.
set -euo pipefail
torch="torch==2.13.0${CPU:++cpu}"
source "$(dirname "${BASH_SOURCE[0]}")/separate_environment.sh" pyiqa "$torch"
[[ -x $folder/bin/python ]] || "${VENV:-.venv}/bin/python" -m venv "$folder"
python=$folder/bin/python
"$python" -m pip install --quiet "$torch" torchvision==0.28.0
"$python" -m pip install --quiet --no-deps --require-hashes -r "$locked"
if ! "$python" -c "import torchvision" 2>/dev/null; then
    # A torchvision of another build than torch: its operators are declared without their kernels.
    packages=$("$python" -c "import sysconfig; print(sysconfig.get_path('purelib'))")
    cp scripts/workspace/torchvision_schema.py "$packages"
    echo "import torchvision_schema; torchvision_schema.install()" > "$packages/torchvision_schema.pth"
fi
"$python" -c "import pyiqa; print('pyiqa', pyiqa.__version__, 'in $folder')"
echo "$wanted" > "$folder/installed.txt"
