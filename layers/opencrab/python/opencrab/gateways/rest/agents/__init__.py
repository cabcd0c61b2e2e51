"""Routes for agents and their models.

What they remember, want and learn has routes in rooms of its own.
"""
