"""Uses, routing, health, faults and preferences of language models.

What they cost is `domain/money`; which is best is learned in `domain/learning`.
"""
