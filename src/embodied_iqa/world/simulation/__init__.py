"""The MuJoCo world: scenes, cameras, tasks and experts."""
