"""The program itself: its commands put together, its options, its client, its tables.

Commands lie in the folders of their capabilities.
"""
