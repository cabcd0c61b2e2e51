"""Who is behind a turn and what that allows: principals, authority, impacts, origins of keys.

What a human must agree to is `domain/approvals`.
"""
