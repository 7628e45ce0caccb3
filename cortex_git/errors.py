"""The one error that a user can mend."""


class CortexError(Exception):
    """Something the user can put right: shown as one line that says what and how, exit status 1."""


class UsageError(CortexError):
    """A command was called in a way that makes no sense: exit status 2."""
