"""Skills as values: know-how in words, with what it unlocks.

How one is learned, tried and retired is `domain/learning`.
"""
