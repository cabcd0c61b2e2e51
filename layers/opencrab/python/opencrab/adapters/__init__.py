"""How needs are met: one module or folder for each technology, none of which knows another."""
