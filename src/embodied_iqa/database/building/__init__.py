"""The builder: references, tasks, distort, annotate, score; each goes on where it was broken off."""
