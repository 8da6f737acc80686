"""Frames, cameras, image files and image messages."""

from embodied_iqa.imaging.images.frame import Camera, Frame, Intrinsics, View

__all__ = ["Camera", "Frame", "Intrinsics", "View"]
