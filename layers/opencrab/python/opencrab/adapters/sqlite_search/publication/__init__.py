"""Publication of an index: a whole snapshot now and then, between them increments upon it."""
