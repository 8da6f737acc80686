"""What `embodied-iqa doctor` looks at, one file a subject. Nothing here needs an installed package."""
