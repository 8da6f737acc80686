"""Tasks: verbs, vocabulary, instructions, and the files that hold them."""
