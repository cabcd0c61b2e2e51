"""Export and import of an agent's memory as a zip file.

Erased data stays erased on import, by the marks of `engine/erasure`.
"""
