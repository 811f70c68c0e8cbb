"""Read a program: resolve its names, type its expressions, refuse what cannot be a kernel."""
