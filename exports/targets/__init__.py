"""The export targets that come with jurist: a module each, called like its target, with an ``exporter``."""
