"""Databases of machine-vision quality in the layout of MIQD-2.5M: images, labels, splits."""
