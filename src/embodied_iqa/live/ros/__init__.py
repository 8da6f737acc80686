"""Node base classes, message conversion, QoS, sessions; only `ros` and `nodes` import rclpy."""
