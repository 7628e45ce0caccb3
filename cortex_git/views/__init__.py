"""What events mean: pure folds from events to plain objects. No clock, no git, no environment."""
