"""Image-quality metrics, full- and no-reference."""
