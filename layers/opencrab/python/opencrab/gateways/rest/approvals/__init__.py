"""Routes for approvals, grants and signed links.

Deciding is `engine/approvals`.
"""
