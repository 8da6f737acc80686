"""StaticEmbodiedBench: static evaluation of VLMs by questions and of VLAs by expert trajectories."""
