"""What a model is shown: system text, history, surroundings, within a token budget.

Asking the model is `engine/turn/decide`.
"""
