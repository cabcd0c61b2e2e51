"""An agent's memory as a zip file: written, read, and taken in as far as it can be trusted.

What of it was forgotten stays so, by `engine/erasure`.
"""
