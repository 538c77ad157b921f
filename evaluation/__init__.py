"""How good a judge is: metrics, intervals, paired tests, the proof, rater agreement."""
