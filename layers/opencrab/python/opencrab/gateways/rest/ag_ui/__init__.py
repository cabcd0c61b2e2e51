"""AG-UI: pages and apps run agents and follow what they say and do, event by event.

A thread is a session and a run is a turn; whatever is done passes the rules of REST.
"""
