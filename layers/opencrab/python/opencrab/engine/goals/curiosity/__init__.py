"""Curiosity's subjects: what an agent does not know yet, and one question about it.

When an agent is curious is `engine/autonomy`, and the goal itself `engine/goals/generation`.
"""
