"""The composition for chat services: their clients, channels and people, in both homes.

The door that takes their requests is put together elsewhere.
"""
