"""Erasure: finds, marks and removes requested data and everything derived from it, resumably.

The rules for detecting repeated words are in `domain/erasure`.
"""
