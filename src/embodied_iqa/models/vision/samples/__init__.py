"""Rendered images of the cell with exact truth: classes, boxes and masks of visible pixels."""
