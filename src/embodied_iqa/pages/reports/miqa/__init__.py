"""The report of an evaluation of metrics on labels of machine-vision quality."""
