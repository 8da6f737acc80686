"""What all pages of the studio share: sources, rendering, requests, security."""
