"""Modules of one paper each."""
