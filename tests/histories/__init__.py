"""Random histories of several clones, played with the real git and the real hooks, against an oracle of its own."""
