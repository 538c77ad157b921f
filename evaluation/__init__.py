"""The quality of a judge: metrics, intervals, paired tests, the proof, rater agreement."""
