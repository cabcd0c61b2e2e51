"""Skills as values: know-how in words, with what it unlocks.

Whether a trial of one ends, and how, is decided in `domain/learning`.
"""
