"""What is tested: VLMs, VLAs, vision models and the embedded panel, and how their answers are scored.

Rooms, each of which imports only rooms above it and wings on lower floors:

- `scoring`: cognition, decision and execution scores
- `subjects.wire`: client protocols of policy servers: websocket, HTTP, msgpack
- `subjects.catalogue`: table of subjects: VLMs and VLAs with their weights and requirements
- `subjects`: subjects: references, options, checks, cache, answers on clean images
- `subjects.actions`: observations and actions of policies from other stacks
- `subjects.serving`: the policy server
- `subjects.backends`: subjects behind servers (OpenAI-compatible, openpi, OpenVLA) and in the user's code
- `subjects.backends.classical`: the classical-vision baselines
- `subjects.backends.panel`: inference of the embedded panel
- `subjects.backends.transformers`: models run by Hugging Face transformers
- `vision`: vision models: predictions, the interface, average precision, labels of machine-vision quality
- `vision.backends`: vision models of transformers, torchvision, the user's code and the embedded vision
  panel
- `panel`: tasks and success criteria of the embedded panel
- `panel.samples`: training samples of the embedded panel
- `panel.evaluation`: evaluation of the embedded panel
- `panel.training`: training of the embedded panel
- `vision.samples`: rendered images of the cell with exact truth: classes, boxes, masks, crops
- `vision.training`: training of the embedded vision panel

A subject is an entry in `subjects.catalogue`; a new way to load or reach models is a back end in
`subjects.backends` or `vision.backends`. A score goes to `scoring`, a member of the embedded panel to
`panel`.
"""
