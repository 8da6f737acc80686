"""Distance of two images in the features of a subject: what the policy itself sees of a distortion."""
