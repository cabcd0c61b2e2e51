"""Bundles: an agent as a file that another installation takes in, and what it leaves behind.

`engine/bundle` reads and writes the file. What agents elsewhere become in it is `sources`.
"""
