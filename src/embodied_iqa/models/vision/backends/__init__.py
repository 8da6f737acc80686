"""Vision models of other libraries, of the user, and of the embedded vision panel."""
