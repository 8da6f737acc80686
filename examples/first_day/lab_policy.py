"""A policy of two cameras for the rehearsal: moves the tool 5 cm down, then says that it is done.

`embodied-iqa serve python:lab_policy:make` puts it behind a server, as a lab's policy is on its own computer.
"""

import numpy as np

from embodied_iqa import ActionChunk, ChunkStatus, SubjectInfo, View, Vla, VlaObservation


class LabPolicy:
    """Needs an image of each camera and ignores what they show."""

    info = SubjectInfo("lab-policy", "1", "Moves the tool 5 cm down.", views=(View("front"), View("wrist")))

    def act(self, observation: VlaObservation) -> ActionChunk:
        observation.frames_of(self.info.views)
        if observation.step > 0:
            return ActionChunk(ChunkStatus.DONE, np.empty((0, 7)), "moved once")
        increments = np.zeros((10, 7))
        increments[:, 2] = 0.005  # metres along the tool's z axis, which points down
        increments[:, 6] = observation.gripper
        return ActionChunk(ChunkStatus.ACT, increments, "5 cm down")


def make() -> Vla:
    return LabPolicy()
