"""Simulated environments with known true effects, in which learning policies are compared.

The product's policy runs its own code, `engine/learning`.
"""
