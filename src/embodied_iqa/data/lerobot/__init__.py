"""LeRobot data sets in local folders: episodes, steps with states and actions, images of each camera."""
