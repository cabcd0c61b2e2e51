"""A turn: its header, records, transcript, actions and due items.

How one runs is `engine/turn`.
"""
