"""A UR arm behind the controllers of another driver: what is read and commanded, without ROS."""
