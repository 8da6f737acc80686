"""One thin ROS node a file."""
