"""The composition for Discord: its API, channel, bot and worker, in both homes.

The door, which loads almost nothing, is composed in `bootstrap/aws`.
"""
