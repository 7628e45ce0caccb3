"""What happened: the event, its line of JSON, and what is taken out before it is written."""
