"""The door for people: the commands of `git cortex`."""
