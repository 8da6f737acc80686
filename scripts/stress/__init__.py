"""`make stress`: repeats the tests of running graphs and of real time beside a busy machine."""
