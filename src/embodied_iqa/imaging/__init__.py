"""Images: frames, cameras, codecs and the distortions.

Rooms, each of which imports only rooms above it and wings on lower floors:

- `images`: frames, views, codecs, camera calibration, images in CDR
- `images.realsense`: Intel RealSense cameras
- `distortions`: the 30 distortions and the 10 machine-vision ones, regions, levels over time

A camera goes to `images` (one that plays a recording to `data.recording`, a simulated one to
`world.simulation`); a distortion is a function in the file of its class in `distortions` and an entry in
`ENTRIES` there.
"""
