"""Routes for skills.

What they do is `engine/skills`.
"""
