"""Serves a policy of another stack by openpi's protocol, from inside that stack's own environment.

Needs Python 3.11, NumPy (1.24 and later), msgpack and websockets beside what the policy itself needs.
"""
