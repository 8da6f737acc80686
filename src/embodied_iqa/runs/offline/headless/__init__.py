"""A trial without ROS, as fast as the machine can."""
