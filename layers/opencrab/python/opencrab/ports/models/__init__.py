"""Ports for language models, their health and the installation's preferences.

No vendor is named here.
"""
