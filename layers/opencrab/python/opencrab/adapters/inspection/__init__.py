"""A look at a data folder from outside, without its lock: for whoever asks why OpenCrab fails."""
