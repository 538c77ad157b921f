"""Text without models: sentences, words, escaping, and what one text says of another."""
