"""Pages on which people work: annotate, verify, judge, and the journal of what they did."""
