"""Mutation tester: changes one place of the source at a time and counts the changes that the tests notice."""
