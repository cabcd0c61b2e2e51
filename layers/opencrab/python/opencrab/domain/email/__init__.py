"""E-mail as it comes in: who wrote it by whose word, what it says, and what is never answered.

How mails are fetched and sent is the adapters' matter.
"""
