"""The guided setup: what is found, what is asked, and the first agent.

It writes settings through `configuration` and ends in a conversation; it calls no model itself.
"""
