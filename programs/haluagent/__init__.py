"""Writing and verifying hallucination items (HaluAgent): the generator, its verifiers, and what code can check."""
