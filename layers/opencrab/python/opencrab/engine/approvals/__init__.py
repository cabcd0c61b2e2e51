"""Approvals: asking a human, deciding, grants given in advance, signed links.

The call that waits for one is run by `engine/turn`.
"""
