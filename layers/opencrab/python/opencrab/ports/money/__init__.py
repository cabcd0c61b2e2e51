"""Ports for budgets and for the switches that freeze.

What was used is `ports/usage`.
"""
