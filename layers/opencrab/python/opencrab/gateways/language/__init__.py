"""The language of people who meet an error, shared by all gateways: which it is, and the texts.

The terminal's own sentences live in `cli/language`, what agents say themselves in `engine/phrases`.
"""
