"""Skills in turns: which are offered and fit, and what their owner decides of them.

Learning new ones is `engine/learning`.
"""
