"""Expert trajectories and VLAs that are scored against them."""
