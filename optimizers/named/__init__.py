"""The optimizers that come with jurist: a module each, called as ``--optimizer`` names it, with an ``optimizer``."""
