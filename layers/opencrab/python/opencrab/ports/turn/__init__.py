"""Ports for the turn journal, the queue, due items, blobs and actions.

Session lines are read through `ports/conversation` as well.
"""
