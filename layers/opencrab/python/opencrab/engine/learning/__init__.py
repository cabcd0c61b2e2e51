"""Learning: signals of turns, evidence, changes and how they are undone.

Figures for people are `engine/insight`.
"""
