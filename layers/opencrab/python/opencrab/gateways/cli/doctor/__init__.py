"""The doctor: what is well, what is not, and its cures.

Discord's own diagnosis is made by `engine/discord`.
"""
