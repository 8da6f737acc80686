"""Embedded panel: small learned VLAs and VLMs, part of the package, run by ONNX Runtime."""
