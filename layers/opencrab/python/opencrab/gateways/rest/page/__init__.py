"""The page that a browser gets: its static files, and the headers that they are served with.

Data are not here: the page asks the routes of the other folders for them, with a key.
"""
