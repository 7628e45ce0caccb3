"""The door for hooks: an assistant's and git's. Whatever happens behind it, the caller is not disturbed."""
