"""The composition for Discord: its API, channel, bot and worker, in both homes.

`door`, the endpoint of the Lambda function, loads almost nothing.
"""
