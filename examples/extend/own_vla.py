"""A VLA of your own: moves the tool 5 cm down, then says that it is done. Reference: python:own_vla:make"""

import numpy as np

from embodied_iqa import ActionChunk, ChunkStatus, SubjectInfo, View, Vla, VlaObservation


class DownVla:
    """Ignores the image; a real policy looks at `observation.frames`."""

    info = SubjectInfo("own-vla", "1", "Moves the tool 5 cm down.", views=(View.TOP,))

    def act(self, observation: VlaObservation) -> ActionChunk:
        if observation.step > 0:
            return ActionChunk(ChunkStatus.DONE, np.empty((0, 7)), "moved once")
        increments = np.zeros((10, 7))
        increments[:, 2] = 0.005  # metres along the tool's z axis, which points down
        increments[:, 6] = observation.gripper
        return ActionChunk(ChunkStatus.ACT, increments, "5 cm down")


def make() -> Vla:
    return DownVla()
