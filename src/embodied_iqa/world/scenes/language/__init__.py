"""Task language: grammar, wording and the resolver that checks a sentence against a scene."""
