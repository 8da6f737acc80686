"""Actions and observations of policies from other stacks, converted from and to those of this package."""
