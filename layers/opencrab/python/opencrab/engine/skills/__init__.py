"""Skills: those offered in a turn, and an owner's changes to them.

Learning of new skills is in `engine/learning`.
"""
