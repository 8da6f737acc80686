#!/usr/bin/env bash
# A lab's first day, rehearsed without a robot: from `cell init` to a gated run beside an emulated UR5e,
# two camera drivers of somebody else, which run freely and publish best-effort images, and a policy server.
#
#     examples/first_day.sh FOLDER
#
# FOLDER is new; everything is written there. On the real day leave out steps 1 to 3, which stand for the
# robot, the camera drivers and the policy server, and give your robot's address, your topics and your policy
# instead. The policy of this rehearsal moves the tool 5 cm down, and is done. There is no VLM: the task is in
# the lab's own words.
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
DAY=${1:?expected a new folder}
ADDRESS=${FIRST_DAY_ADDRESS:-127.0.0.2}
SECONDS_TO_RECORD=${FIRST_DAY_SECONDS:-20}
export ROS_DOMAIN_ID=${ROS_DOMAIN_ID:-42} ROS_AUTOMATIC_DISCOVERY_RANGE=${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}
export PYTHONPATH=$HERE/first_day${PYTHONPATH:+:$PYTHONPATH}
mkdir "$DAY"
cd "$DAY"

step() {
    local begun=$EPOCHREALTIME
    "${@:2}"
    awk -v name="$1" -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "[%s: %.1f s]\n", name, b - a }' >&2
}

# 1. the robot, 2. the camera drivers, 3. the policy server
embodied-iqa emulator --host "$ADDRESS" --model ur5e > emulator.log &
OTHERS=$!
for camera in front wrist; do
    python -m foreign_camera $camera > $camera.log &
    OTHERS+=" $!"
done
embodied-iqa serve python:lab_policy:make --port 0 > policy.log &
OTHERS+=" $!"
trap 'kill $OTHERS ${PERSON:-} 2> /dev/null || :' EXIT
until grep -q ready emulator.log && grep -q ready front.log && grep -q ready wrist.log && grep -q serving policy.log; do
    for other in $OTHERS; do kill -0 "$other"; done
    sleep 0.2
done
POLICY=$(grep -o 'openpi://[^ ]*' policy.log)
TASK="put the cup on the shelf"

# 4. what is there
step init embodied-iqa cell init --robot-ip "$ADDRESS" --topic front=/lab/front/image_raw \
    --topic wrist=/lab/wrist/image_raw --tool-length 0.2 --workspace-min -0.75 -0.40 0.02 \
    --workspace-max -0.25 0.40 0.60 --table-z 0.0 --tool-height 0.01 --wall-x -0.95 --vla "$POLICY" \
    --vlm none --yes

# 5. what cannot be read: the result of the hand-eye calibration, in a second file; limits of the rehearsal
cp "$HERE/first_day/hand_eye.yaml" "$HERE/first_day/rehearsal.yaml" .

# 6. and 7. clean images, 8. the gate, 9. are other clean images normal?
step record embodied-iqa record --config cell.yaml --seconds "$SECONDS_TO_RECORD" --out morning
step "record again" embodied-iqa record --config cell.yaml --seconds 3 --out afternoon
step calibrate embodied-iqa gate calibrate morning/clean.mcap --out my_gate.yaml
step "gate check" embodied-iqa gate check afternoon/clean.mcap --calibration my_gate.yaml

# 10. is the cell as the files say, and does the policy answer?
step check embodied-iqa cell check cell.yaml hand_eye.yaml rehearsal.yaml \
    --set gate_node.calibration=my_gate.yaml --task "$TASK" --out checked

# 11. the gated run; a person at the terminal says when the scene is ready and whether the task was done
python -m person &
PERSON=$!
step trial embodied-iqa trial --config cell.yaml --config hand_eye.yaml --config rehearsal.yaml \
    --calibration my_gate.yaml --gate on --set trial_node.run_limit_s=30.0 --task "$TASK" --no-distortion --out run
