"""The arm: limits, path, leases, drivers, and the emulated controller.

Rooms, each of which imports only rooms above it and wings on lower floors:

- `lease_options`: times in the life of a lease, the same ones for gate, arm and simulated world
- `horizon_options`: how much of a chunk is executed before the next one is due, for policy and arm
- `verdict`: verdicts of the gate, and the lease that takes them to the arm
- `emulator`: a UR controller and gripper that speak the robot's protocols
- `robot`: the arm: limits, path, leases, controller and its runner, drivers
- `robot.ur`: the UR arm and its gripper on the robot's own protocols
- `robot.foreign`: a UR arm behind the controllers of another driver

A driver or a rule of the arm goes to `robot`, what a controller answers on the wire to `emulator`, what gate
and arm must agree on to `verdict`.
"""
