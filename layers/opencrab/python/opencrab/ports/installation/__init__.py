"""What an installation is run by: its settings files, and the system that starts programs.

Its data are the stores of `ports/home`.
"""
