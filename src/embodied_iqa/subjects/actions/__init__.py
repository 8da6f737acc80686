"""What foreign policies mean by an action, and how it becomes our 7-DoF increments."""
