#!/usr/bin/env bash
# Makes .venv-docs, the environment of the documentation site: Zensical and mkdocstrings, no part of .venv.
set -euo pipefail
exec 9<"$(dirname "${BASH_SOURCE[0]}")/setup_docs.sh"
flock 9  # two set-ups side by side, as continuous integration has them, make one environment
source "$(dirname "${BASH_SOURCE[0]}")/separate_environment.sh" docs
for python in "${PYTHON:-}" python3 python3.12 python3.11 "${VENV:-.venv}/bin/python"; do
    if [[ -n "$python" ]] && "$python" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        [[ -x $folder/bin/python ]] || "$python" -m venv "$folder"
        "$folder/bin/python" -m pip install --quiet --no-deps --require-hashes -r "$locked"
        echo "$wanted" > "$folder/installed.txt"
        exit 0
    fi
done
echo "docs: no Python 3.11 or later on the PATH; name one: make docs PYTHON=/path/to/python3.12" >&2
exit 1
