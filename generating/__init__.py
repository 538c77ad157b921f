"""From documents to dialogues, from dialogues to a labelled dataset, and what such a dataset looks like."""
