"""How the asking improves: optimizers behind one interface, objectives, and the board that keeps every score."""
