"""What assistants and people say and do, from hook payloads and transcripts to events."""
