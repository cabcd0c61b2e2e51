"""The Discord door's own small kit: HTTP, AWS calls and signatures without any SDK.

It exists for the door's start-up budget of 80 ms (ADR 0021); nothing else should import it.
"""
