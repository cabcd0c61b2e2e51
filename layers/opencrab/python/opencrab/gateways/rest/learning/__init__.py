"""Routes for feedback, changes and experiments.

What they do is `engine/learning`.
"""
