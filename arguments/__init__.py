"""What the commands take: argparse only, so that ``jurist --help`` is immediate."""
