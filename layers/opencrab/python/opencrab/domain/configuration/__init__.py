"""Configuration: the rules of settings, the text of a settings file, and what is wrong in it.

No file and no variable is read here; limits that are set at run time belong to `money`.
"""
