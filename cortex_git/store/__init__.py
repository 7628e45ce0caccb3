"""Where memory is kept: the repository, its notes refs and the spool. The only part that speaks to git."""
