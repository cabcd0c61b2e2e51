"""Language models of seven kinds of providers behind one port, and one that follows a script."""
