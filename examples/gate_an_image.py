"""Judge a clean and a dark image with the quality gate of the simulated cell; it needs all of the package."""

import embodied_iqa

try:
    frame = embodied_iqa.simulated_frame(seed=7, view="top")
except embodied_iqa.UserError as error:  # where only `[gate]` is installed
    raise SystemExit(str(error)) from None
for name, image in {
    "clean": frame.rgb,
    "dark": embodied_iqa.distort(frame.rgb, "max-darken:5"),
}.items():
    quality = embodied_iqa.Gate("simulated").judge(image, view="top")
    print(f"{name}: {quality.frame_verdict.name}" + (f" ({quality.reason})" if quality.reason else ""))
