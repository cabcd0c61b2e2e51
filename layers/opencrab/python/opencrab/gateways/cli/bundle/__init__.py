"""Commands that move an agent: into a file, and out of one.

Archives of memory alone lie in `gateways/cli/memory`.
"""
