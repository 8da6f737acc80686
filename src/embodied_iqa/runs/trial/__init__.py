"""One trial as a pure state machine: reference run, distorted runs, scores."""
