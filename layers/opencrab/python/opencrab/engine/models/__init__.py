"""Which model is asked: routing, assignment, preferences, price lists.

Asking it is `engine/turn/decide`.
"""
