"""The ROS graph as data: nodes, parameters and processes, without rclpy."""
