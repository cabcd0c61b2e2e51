"""Attachments: what becomes of the files that people attach to messages, on any service.

Each service has its own `FileSource`; the limits of files and their records are in `conversation`.
"""
