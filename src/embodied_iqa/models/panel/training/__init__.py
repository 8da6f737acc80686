"""Training of the panel's members; the only part of the panel that needs PyTorch."""
