"""Labelled cases: read from anywhere, checked, split, merged, written."""
