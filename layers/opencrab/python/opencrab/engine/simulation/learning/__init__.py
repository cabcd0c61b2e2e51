"""Made-up worlds in which ways to learn are compared, since their truth is known.

The learning that is tried there is the product's own, `engine/learning`.
"""
