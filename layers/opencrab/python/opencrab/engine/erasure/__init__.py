"""Forgetting: what is meant is found, marked and taken away everywhere, resumably.

Rules of what repeats what are in `domain/erasure`.
"""
