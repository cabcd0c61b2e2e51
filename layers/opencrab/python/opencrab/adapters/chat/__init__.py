"""What the adapters of chat services share: one request, and its answer.

The services have folders of their own, `line`, `slack` and `telegram`; Discord's is `discord`.
"""
