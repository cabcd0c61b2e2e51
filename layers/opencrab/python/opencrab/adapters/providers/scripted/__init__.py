"""Models that cost nothing: one follows a script or rules, one lives a simulated day.

They are part of the product, for `opencrab up` without a key, for tests and for `simulate`.
"""
