"""The functions and classes of the public Python interface that no lower wing has.

Rooms, each of which imports only rooms above it and wings on lower floors:

- `image_batch`: images as people hold them: arrays, tensors and files, one or a batch
- `gate`: the quality gate
- `metrics`: quality metrics, called with such images
- `distortions`: distort, with such images
- `interface`: the other functions: score, load, open

The public names, of this wing and of others, are listed in the package's `__init__.py`.
"""
