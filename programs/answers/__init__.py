"""The kinds of answers a judge can give, behind one base class."""
