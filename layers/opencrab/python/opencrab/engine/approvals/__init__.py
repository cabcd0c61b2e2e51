"""Approvals: asking a human, deciding, granting beforehand, signed links.

The call that waits for one is run by `engine/turn`.
"""
