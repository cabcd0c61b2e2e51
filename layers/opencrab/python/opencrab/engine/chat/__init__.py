"""Chat services: whom their messages concern, what their buttons decide, and whether all is set.

How a service words its events lies in `gateways/chat`.
"""
