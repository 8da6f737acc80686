"""The UR arm and its gripper on the robot's own protocols."""
