"""The target python: the user's own functions, called vertex by vertex (``debug=True``)."""
