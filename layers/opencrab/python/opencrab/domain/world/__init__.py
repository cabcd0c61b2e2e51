"""Outside worlds: bindings, messages, founders (Kingdom).

Signing and carrying messages is the adapters' work.
"""
