"""The demo's story: two sessions of an assistant on a small project, and what was said in them.

`{repo}` stands for the project's folder.
"""

from __future__ import annotations

from typing import Any

FILES = {
    "README.md": "# Notes\n\nA tiny note keeper.\n",
    "notes.py": "NOTES = []\n\n\ndef add(text):\n    NOTES.append(text)\n",
}


def bash(command: str) -> dict[str, Any]:
    """A call of the assistant's shell."""
    return {"name": "Bash", "input": {"command": command, "description": command.split("\n")[0][:40]}}


def write(path: str, content: str) -> dict[str, Any]:
    """A call that writes a file."""
    return {"name": "Write", "input": {"file_path": "{repo}/" + path, "content": content}}


STORAGE = {
    "branch": "feature/storage",
    "prompt": "Make the notes survive a restart. We use SQLite for this, not a JSON file.",
    "turns": [
        {
            "text": "I'll look at the module first.\n\n[MEMORY: rejected] A JSON file rewritten on each change, "
            "because two processes would overwrite each other's notes",
            "tools": [bash("cat notes.py")],
        },
        {
            "text": "[MEMORY: decision] Use SQLite in WAL mode for storage instead of a JSON file, "
            "because readers must not block the writer",
            "tools": [
                write(
                    "notes.py",
                    "import sqlite3\n\n\ndef open_notes(path):\n    notes = sqlite3.connect(path)\n"
                    '    notes.execute("PRAGMA journal_mode=WAL")\n'
                    '    notes.execute("CREATE TABLE IF NOT EXISTS note (text TEXT)")\n    return notes\n',
                )
            ],
        },
        {
            "text": "[MEMORY: `PRAGMA journal_mode` is stored in the database file and survives reopening it]",
            "tools": [bash("git add -A && git commit -m 'Keep notes in SQLite'")],
        },
        "The notes are in SQLite now and committed.\n\n"
        "[MEMORY: plan] Search\n- [x] storage\n- [ ] full-text search\n- [ ] command line",
    ],
}

SEARCH = {
    "branch": "feature/search",
    "prompt": "Add a search over the notes.",
    "turns": [
        {
            "text": "[MEMORY: decision] Search with SQLite's FTS5 rather than a library, "
            "because it needs no new dependency",
            "tools": [
                write(
                    "search.py",
                    "def search(notes, words):\n"
                    '    return notes.execute("SELECT text FROM note WHERE text LIKE ?", (f"%{words}%",)).fetchall()\n',
                )
            ],
        },
        {"tools": [bash("git add -A && git commit -m 'Search the notes'")]},
        "Search works and is committed.",
    ],
}

NEXT = {
    "branch": "main",
    "prompt": "What should I know before I go on?",
    "turns": ["I have read what earlier sessions left."],
}
