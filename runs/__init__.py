"""New data at scale: judging rows into a JSONL file that can be continued."""
