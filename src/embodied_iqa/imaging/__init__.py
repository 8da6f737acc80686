"""Images: frames, cameras, codecs and the distortions.

Rooms; one imports only those above it and the wings on lower floors:

- `images`: frames, views, codecs, camera calibration, pictures in CDR
- `images.realsense`: Intel RealSense cameras
- `distortions`: the 30 distortions and the 10 machine-vision ones, regions, levels over time

A camera goes to `images`; a distortion is a function in the file of its class in `distortions` and an entry
in `ENTRIES` there.
"""
