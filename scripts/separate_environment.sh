# Sourced with a name by the set-up of an environment that is no part of .venv: sets locked, folder and wanted,
# and ends the script where the environment is whole. A second argument is further of what it depends on.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
locked=requirements/$1/locked.txt
folder=.venv-$1
wanted="${2:+$2 }$(sha256sum "$locked")"

if [[ -f $folder/installed.txt && $(<"$folder/installed.txt") == "$wanted" ]]; then
    exit 0
fi
rm -f "$folder/installed.txt"  # what is half renewed is not whole
unset PYTHONPATH _ROS_WHEELS_BOOTSTRAP_COMPLETE LD_LIBRARY_PATH
