"""Cell manipulation: a VLM plans low-level actions in the simulated cell, by EmbodiedBench's protocol."""
