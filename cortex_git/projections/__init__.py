"""The committed side of the memory: items and pages under `.cortex/`, written, read, checked and staged."""
