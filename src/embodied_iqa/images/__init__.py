"""Picture types, cameras and codecs: the lowest layer, which everything else may import."""

from embodied_iqa.images.frame import Camera, Frame, Intrinsics, View

__all__ = ["Camera", "Frame", "Intrinsics", "View"]
