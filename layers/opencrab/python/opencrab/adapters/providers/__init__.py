"""Language models of seven kinds of providers behind one port, and one that follows a script.

Which model is asked, and for how much, is decided in `engine/models` and `engine/money`.
"""
