"""The arm: limits, path, leases, drivers, and the emulated controller.

Rooms; one imports only those above it and the wings on lower floors:

- `verdict`: verdicts of the gate, and the lease that takes them to the arm
- `emulator`: a UR controller and gripper that speak the robot's protocols
- `robot`: the arm: limits, path, leases, controller and its runner, drivers

A driver or a rule of the arm goes to `robot`; what a controller answers on the wire goes to `emulator`.
"""
