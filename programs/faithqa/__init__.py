"""The judges of intent hallucination (FAITHQA, Constraint Score), and what they are computed from."""
