"""Message conversion, QoS and the node base class: with `nodes` the only code that imports rclpy."""
