"""E-mail: a mailbox read over IMAP, and answers sent over SMTP, both with verified certificates.

What is answered is decided in `domain/email` and `engine/chat`.
"""
