"""Hash buckets, seeded randomness, confidence sequences, off-policy estimates.

It knows nothing of agents or turns.
"""
