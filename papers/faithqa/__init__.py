"""FAITHQA: its benchmark of queries, and the assessment of models on it."""
