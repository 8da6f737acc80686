"""The UR5: forward, inverse, Jacobian, singularities, motion."""
