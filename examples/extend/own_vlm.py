"""A VLM of your own: says how bright the image is. Reference: python:own_vlm:make"""

from embodied_iqa import Frame, SubjectInfo, View, Vlm


class BrightnessVlm:
    """Answers the question that it gets with one measured fact."""

    info = SubjectInfo("own-vlm", "1", "Says if the image is bright.", views=(View.TOP,), any_view=True)

    def answer(self, frame: Frame, task: str) -> str:
        words = "bright" if frame.rgb.mean() > 100 else "dark"
        return f"The image is {words}. I would {task}."


def make() -> Vlm:
    return BrightnessVlm()
