"""The choice of models: routing, assignment, preferences, price lists.

The calls are made by `engine/turn/decide`.
"""
