"""Getting into a repository and out of it again: git hooks, an assistant's hooks and rules, ignore lines."""
