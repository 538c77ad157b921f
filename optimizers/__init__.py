"""The search for better prompts: optimizers behind one interface, objectives, and the board that keeps every score."""
