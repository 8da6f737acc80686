"""Training of networks with torch: the loop, its checkpoints, and the export to ONNX."""
