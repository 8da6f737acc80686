"""The embedded panel: small learned VLAs and VLMs that ship with the package and run in ONNX Runtime."""
