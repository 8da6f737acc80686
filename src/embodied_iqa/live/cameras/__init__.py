"""Sources of camera images, one module each; `runs.graph.camera_sources` lists them."""
