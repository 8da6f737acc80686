"""What is scored: vision-language and vision-language-action models."""
