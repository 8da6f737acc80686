"""What an annotated database shows: pure functions from scores to tables, and the page made of them."""
