"""HaluAgent and C-FAITH alone: the benchmark's formats, and how models are assessed."""
