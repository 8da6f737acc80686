"""From a quality estimate to a verdict: statistics, thresholds, debouncing, the lease."""
