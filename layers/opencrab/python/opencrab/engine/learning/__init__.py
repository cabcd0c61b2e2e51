"""Learning from turns: signals, evidence, changes based on it, and their undoing.

Statistics for people are in `engine/insight`.
"""
