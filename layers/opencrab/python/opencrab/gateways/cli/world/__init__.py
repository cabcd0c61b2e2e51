"""Commands about outside worlds: binding agents, trusting a world, and the demo world.

The demo world itself is handed in by bootstrap; here it is only started.
"""
