"""Checks of `embodied-iqa doctor`; they also run where packages are missing."""
