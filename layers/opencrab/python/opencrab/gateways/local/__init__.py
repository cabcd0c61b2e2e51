"""The local runner: REST, turn workers, deliveries and the sweep in one process.

It feeds the same functions that Lambda handlers call.
"""
