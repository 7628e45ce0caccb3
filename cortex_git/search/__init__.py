"""Finding what is meant in the memory. Everything here is derived and can be deleted."""
