"""Keeping artifacts: canonical bytes and seals, versions and tags, DSPy states, and the guard against keys."""
