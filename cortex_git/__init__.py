"""Memory for AI coding assistants, kept in the repository's own git."""

__version__ = "0.1.0"  # a literal: importlib.metadata would cost every hook some 40 ms
