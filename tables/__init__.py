"""The tables of the CogniBench paper on any gold: Table 3 (detectors) and Table 5 (auto-labelling taken apart)."""
