"""A small kit without any SDK: HTTP, AWS calls and signatures.

It exists for the start-up budget of 80 ms of the Discord door (ADR 0021), and for the authoriser,
which every first request waits for; nothing else should import it.
"""
