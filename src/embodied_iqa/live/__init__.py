"""The ROS 2 nodes and what they share; the only wing that imports rclpy and message packages.

Rooms, each of which imports only rooms above it and wings on lower floors:

- `ros`: what the nodes share: node base class, conversion, sessions
- `cameras`: sources of camera images, one module each; `camera_node` knows none of them
- `cell`: a real cell outside of a trial: its arm and cameras are only read
- `nodes`: the ROS 2 nodes: message in, one call, message out

A node is a module in `nodes` with `main()`; what two nodes need goes to `ros`.
"""
