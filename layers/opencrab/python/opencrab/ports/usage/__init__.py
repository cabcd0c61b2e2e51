"""Ports for the usage ledger and a day's counters.

They are written through the journal, with what they account for.
"""
