"""Learning at the terminal: reviews, changes, experiments, feedback, trials of models.

Everything but a trial of models is asked of the server over REST.
"""
