"""CogniBench (arXiv:2505.20767): its tables, its dataset, its statistics."""
