"""Routes for the installation's own status.

Settings of models and money have rooms of their own.
"""
