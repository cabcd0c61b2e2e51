"""Actions of learning: lessons from experience, and the skills made of them.

Trials and their verdicts are in `engine/learning`.
"""
