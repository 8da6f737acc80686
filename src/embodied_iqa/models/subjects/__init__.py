"""Subjects: vision-language models and vision-language-action models that are scored."""
