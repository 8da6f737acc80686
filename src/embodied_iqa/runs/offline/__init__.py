"""The trial without ROS: headless runs and rescoring."""
