"""Emulator of a UR controller with a Robotiq gripper that speaks the real robot's protocols on loopback."""
