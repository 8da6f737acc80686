"""The gate in front of a policy server: judges each observation, and asks the policy on PASS."""
