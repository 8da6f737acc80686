"""The report of subjects on a static benchmark."""
