"""The gold formats that come with jurist: a module each, called like its format, with a ``reader``."""
