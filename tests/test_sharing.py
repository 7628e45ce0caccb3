"""Sharing is asked for, a remote at a time; what then goes and comes is said, and no more than that goes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, TestRepo
from team import Hub, decide, opened, push, seen, start, touch, traced

from cortex_git.store import remotes


@pytest.fixture
def hub(tmp_path: Path, home: Path) -> Hub:
    """A hub with one commit on main."""
    return Hub(tmp_path / "hub")


def at_terminal(repo: TestRepo, answers: str, *arguments: str) -> str:
    """Run a command as somebody at a terminal who types these answers; returns what they see."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cortex_git", *arguments],
        cwd=repo.path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(ours, answers.encode())
    shown = b""
    while True:
        try:
            data = os.read(ours, 1 << 16)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(ours)
    process.wait(60)
    return shown.decode()


def test_nothing_leaves_unasked(hub: Hub) -> None:
    """Setting up, deciding, committing and pushing sends code and no memory; there is no refspec of ours."""
    clone = hub.clone("a", shared=False)
    decide(clone, "Use SQLite")
    clone.commit({"g": "1\n"})
    done = push(clone)

    assert 0 == done.returncode and "git cortex" not in done.stderr
    assert {} == hub.refs()
    assert "+refs/heads/*:refs/remotes/origin/*" == clone.git("config", "--get-all", "remote.origin.fetch")
    assert "" == clone.git("config", "--get-all", "remote.origin.push", check=False)


def test_the_preview_names_what_would_leave(hub: Hub) -> None:
    """Before anything leaves one sees how much of what, of which branches, where to, and what stays."""
    clone = hub.clone("a", shared=False)
    decide(clone, "Use SQLite", "Use TOML")
    clone.run("decide", "--private", "Sell the company")
    clone.git("switch", "-qc", "feature")
    clone.run("learn", "The parser is slow")
    shown = clone.run("share", "--dry-run").out
    facts = json.loads(clone.run("share", "--dry-run", "--json").out)

    assert "3 events" in shown and "decision: 2, learned: 1" in shown and "on feature, main" in shown
    assert str(hub.path) in shown and "Use TOML" in shown and "Sell the company" not in shown
    assert "What stays: files and commands, preferences, whatever is marked private." in shown
    assert {"decision": 2, "learned": 1} == facts["types"]
    assert {} == hub.refs() and [] == remotes.shared(opened(clone))


def test_sharing_needs_a_yes(hub: Hub) -> None:
    """Without a terminal it must be confirmed, at one it is asked, and without a yes nothing changes."""
    clone = hub.clone("a", shared=False)
    decide(clone, "Use SQLite")
    asked = clone.run("share", "origin", check=False)
    assert 2 == asked.status and "--yes" in asked.err
    assert "nothing was changed" in at_terminal(clone, "\n", "share")
    assert {} == hub.refs()

    assert "sent 1 event" in at_terminal(clone, "y\n", "share")
    assert ["Use SQLite"] == hub.contents()


def test_init_offers_sharing_and_takes_silence_for_a_no(hub: Hub) -> None:
    """At a terminal init asks whether to share, with No as its default; else it says how."""
    clone = hub.empty_clone("a")
    shown = at_terminal(clone, "y\n\n", "init", "--no-claude")
    assert "Share with origin? [y/N]" in shown
    assert [] == remotes.shared(opened(clone))

    said = hub.empty_clone("b").run("init", "--yes", "--no-claude").out
    assert "git cortex share origin" in said and "git cortex sync" in said


def test_init_shares_if_told_so(hub: Hub) -> None:
    """A yes at init shares from then on."""
    clone = hub.empty_clone("a")
    at_terminal(clone, "y\ny\n", "init", "--no-claude")
    assert ["origin"] == remotes.shared(opened(clone))


def test_what_came_is_in_the_next_sessions_briefing(hub: Hub) -> None:
    """After a sync the next session of an assistant starts with what others have decided."""
    other = hub.clone("b")
    decide(other, "Use TOML")
    other.run("sync")
    clone = hub.empty_clone("a")
    clone.run("init", "--yes", "--no-plugin")
    clone.run("sync")
    assert "Use TOML" in clone.read(".claude/rules/cortex-briefing.md")


def test_sharing_twice_is_a_sync(hub: Hub) -> None:
    """With a remote that memory is shared with already, share asks nothing and sends."""
    clone = hub.clone("a")
    decide(clone, "Use SQLite")
    assert "sent 1 event" in clone.run("share").out


def test_names_of_remotes_are_completed(hub: Hub) -> None:
    """The shell offers the remotes that there are."""
    clone = hub.clone("a", shared=False)
    assert "origin" in clone.run("share", "ori", variables={"_GIT_CORTEX_COMPLETE": "1"}).out


def test_unsharing_ends_it(hub: Hub) -> None:
    """After unshare a push sends no memory; --forget also removes what was fetched."""
    other = hub.clone("b")
    decide(other, "Use TOML")
    other.run("sync")
    clone = hub.clone("a")
    clone.run("unshare")
    decide(clone, "Use SQLite")
    clone.commit({"g": "1\n"})
    push(clone)

    assert ["Use TOML"] == hub.contents()
    assert ["Use SQLite", "Use TOML"] == seen(clone)
    clone.run("unshare", "origin", "--forget")
    assert ["Use SQLite"] == seen(clone)


def test_uninstalling_takes_the_consent_along(hub: Hub) -> None:
    """Whoever sets up again is not sharing by surprise."""
    clone = hub.clone("a")
    clone.run("uninstall")
    assert "" == clone.git("config", "--get-regexp", "cortexshare", check=False)


def test_what_is_private_or_local_never_leaves(hub: Hub) -> None:
    """Private events, preferences, files and commands stay, however one syncs."""
    clone = hub.clone("a")
    clone.run("decide", "--private", "Sell the company")
    clone.run("add", "preference", "Tabs, not spaces")
    touch(clone, "src/app.py")
    decide(clone, "Use SQLite")
    clone.commit({"g": "1\n"})
    push(clone)
    clone.run("sync")

    kept = [text for text in hub.contents() if text != "A change"]
    assert ["Use SQLite"] == kept
    assert {"refs/notes/cortex"} == {"/".join(ref.split("/")[:3]) for ref in hub.refs("refs/notes")}


def test_settings_let_files_and_preferences_leave(hub: Hub) -> None:
    """share.structural and share.preferences are honoured from the moment they are set, and the preview says so."""
    clone = hub.clone("a", shared=False)
    clone.write({".cortex/config.toml": "[share]\nstructural = true\npreferences = true\n"})
    clone.run("add", "preference", "Tabs, not spaces")
    touch(clone, "src/app.py")
    assert "leaves, too, since the settings say so: files and commands, preferences" in clone.run("share", "-n").out

    clone.run("share", "--yes")
    assert ["Tabs, not spaces", "src/app.py"] == hub.contents()


def test_sync_says_what_went_and_came(hub: Hub) -> None:
    """Two clones see each other's memory after a sync each, and are told how much that was."""
    a, b = hub.clone("a"), hub.clone("b")
    decide(a, "Use SQLite", "Use TOML")
    assert "origin: would send 2 events, nothing new there" in a.run("sync", "--dry-run").out
    assert {} == hub.refs()
    assert "origin: sent 2 events, nothing new there" in a.run("sync").out
    assert "1 ref to fetch" in b.run("sync", "--dry-run").out
    assert "fetched 2 events of 1 other clone" in b.run("sync").out
    assert ["Use SQLite", "Use TOML"] == seen(b)
    assert "origin: nothing to send, nothing new there" in a.run("sync").out


def test_fetching_alone_sends_nothing(hub: Hub) -> None:
    """With --fetch, or from a remote that is named and not shared with, memory only comes."""
    a, b = hub.clone("a"), hub.clone("b", shared=False)
    decide(a, "Use SQLite")
    a.run("sync", "--fetch")
    assert {} == hub.refs()
    a.run("sync")
    decide(b, "Use TOML")
    said = json.loads(b.run("sync", "origin", "--json").out)["remotes"][0]

    assert (1, 0, False) == (said["came"], said["sent"], said["shared"])
    assert ["Use SQLite"] == hub.contents()
    assert ["Use SQLite", "Use TOML"] == seen(b)


def test_a_clone_that_never_fetched_says_so(hub: Hub) -> None:
    """`log` and `search` that find nothing name the remote and the command, before and after init; `init` does once."""
    a = hub.clone("a")
    decide(a, "Use SQLite")
    a.run("sync")
    b = hub.empty_clone("b")
    before = b.run("log", check=False)
    assert 1 == before.status and "git cortex init" in before.err and "git cortex sync" in before.err

    hint = "memory on origin was never fetched: run `git cortex sync`"
    assert hint in b.run("init", "--yes", "--no-claude").out
    assert hint in b.run("log").err
    assert hint in b.run("search", "sqlite").err
    assert hint not in b.run("status").out
    b.run("sync")
    assert ["Use SQLite"] == seen(b)
    assert hint not in b.run("status").out


def test_sharing_with_a_remote_that_is_not_there_is_noted_and_fails(hub: Hub) -> None:
    """`share` says that nothing could be exchanged, and ends with status 1; `sync` tries again, `unshare` ends it."""
    clone = hub.clone("a", shared=False)
    decide(clone, "Use SQLite")
    clone.git("remote", "add", "dead", str(hub.path.parent / "nowhere.git"))
    done = clone.run("share", "dead", "--yes", check=False)
    assert 1 == done.status
    assert "dead is noted as shared, but nothing could be exchanged with it" in done.out
    assert "nothing to send" not in done.out
    assert "`git cortex sync` tries again" in done.err
    clone.run("unshare", "dead")


def test_what_was_said_after_the_push_is_counted_and_sent_later(hub: Hub) -> None:
    """An event recorded after the push counts as unpushed; sync sends it, or the next push with its commit."""
    clone = hub.clone("a")
    clone.commit({"g": "1\n"})
    push(clone)
    decide(clone, "Use SQLite")
    assert "unpushed events: 1" in clone.run("status").out
    assert [] == hub.contents()

    clone.commit({"g": "2\n"})
    push(clone)
    assert ["A change", "Use SQLite"] == hub.contents()
    assert "unpushed events: 0" in clone.run("status").out
    decide(clone, "Use TOML")
    clone.run("sync")
    assert ["A change", "Use SQLite", "Use TOML"] == hub.contents()


def test_a_missing_remote_is_an_error_in_one_line(hub: Hub, repo: TestRepo) -> None:
    """A remote that is not there, or must be chosen, is named with what there is."""
    clone = hub.clone("a", shared=False)
    assert "there are origin" in clone.run("share", "upstream", check=False).err
    clone.git("remote", "rename", "origin", "one")
    clone.git("remote", "add", "two", str(hub.path))
    clone.git("config", "--unset", "branch.main.remote")
    assert "name one of one, two" in clone.run("sync", check=False).err
    repo.run("init", "--yes", "--no-claude")
    assert "git remote add" in repo.run("share", check=False).err
    assert "Sharing: off, there is no remote" in repo.run("status").out


def test_the_consent_follows_a_renamed_remote(hub: Hub) -> None:
    """git moves the setting when a remote is renamed, and drops it when it is removed."""
    clone = hub.clone("a")
    clone.git("remote", "rename", "origin", "upstream")
    assert ["upstream"] == remotes.shared(opened(clone))
    clone.git("remote", "remove", "upstream")
    clone.git("remote", "add", "upstream", str(hub.path))
    assert [] == remotes.shared(opened(clone))


def test_passwords_in_a_url_are_not_shown(hub: Hub) -> None:
    """The preview shows where memory goes without the password in the address."""
    clone = hub.clone("a", shared=False)
    clone.git("remote", "set-url", "origin", "https://ada:s3cret@example.org/p.git")
    shown = clone.run("share", "--dry-run").out
    assert "https://example.org/p.git" in shown and "s3cret" not in shown


@pytest.mark.parametrize("default", ["nothing", "current", "upstream", "simple", "matching"])
def test_plain_push_does_what_it_did(hub: Hub, default: str) -> None:
    """`git push` without arguments pushes the same branches as before, whatever push.default says."""
    clone, plain = hub.clone("a"), hub.empty_clone("b")
    for repo in (clone, plain):
        repo.git("config", "push.default", default)
        repo.git("switch", "-qc", repo.path.name, "--track", "origin/main")
        repo.commit({repo.path.name: "1\n"})
    ours, theirs = push(clone, "--dry-run", "--porcelain"), push(plain, "--dry-run", "--porcelain")

    assert theirs.returncode == ours.returncode
    assert theirs.stdout.count("refs/") == ours.stdout.count("refs/")


def test_six_clones_push_sixty_events_with_one_attempt_each(hub: Hub, tmp_path: Path) -> None:
    """Six clones that send ten events each at the same moment: all sixty arrive, and each clone pushed once."""
    clones = [hub.clone(f"c{n}") for n in range(6)]
    for n, clone in enumerate(clones):
        decide(clone, *(f"Choice {n}.{k}" for k in range(10)))
    folders = [tmp_path / f"trace{n}" for n in range(6)]
    for folder in folders:
        folder.mkdir()
    processes = [
        start(clone, "sync", GIT_TRACE2_EVENT=str(folder)) for clone, folder in zip(clones, folders, strict=True)
    ]
    assert [0] * 6 == [process.wait(60) for process in processes]

    assert sorted(f"Choice {n}.{k}" for n in range(6) for k in range(10)) == hub.contents()
    assert [1] * 6 == [traced(folder, "push") for folder in folders]


@pytest.mark.slow
def test_six_clones_push_code_and_memory_at_once(hub: Hub) -> None:
    """The same through `git push` of a branch each, with the hook doing the work."""
    clones = [hub.clone(f"c{n}") for n in range(6)]
    for n, clone in enumerate(clones):
        clone.git("switch", "-qc", f"branch{n}")
        decide(clone, *(f"Choice {n}.{k}" for k in range(3)))
        clone.commit({f"file{n}": "1\n"})
    processes = [
        subprocess.Popen(["git", "push", "-q", "origin", f"branch{n}"], cwd=clone.path, stderr=subprocess.PIPE)
        for n, clone in enumerate(clones)
    ]
    said = [process.communicate(timeout=60)[1].decode() for process in processes]

    assert [0] * 6 == [process.returncode for process in processes]
    assert not [text for text in said if "git cortex" in text]
    wanted = sorted(f"Choice {n}.{k}" for n in range(6) for k in range(3))
    assert wanted == [text for text in hub.contents() if text != "A change"]


@pytest.mark.slow
def test_twenty_clones_meet_an_empty_remote(hub: Hub) -> None:
    """The first sync of twenty clones at once to a remote without memory: everything arrives."""
    origin = hub.clone("c0")
    clones = [origin]
    for n in range(1, 20):
        clone = hub.empty_clone(f"c{n}")
        clone.run("init", "--no-claude", "--no-commit")
        remotes.set_shared(opened(clone), "origin", True)
        clones.append(clone)
    for n, clone in enumerate(clones):
        decide(clone, f"Choice {n}")
    processes = [start(clone, "sync") for clone in clones]

    assert [0] * 20 == [process.wait(120) for process in processes]
    assert sorted(f"Choice {n}" for n in range(20)) == hub.contents()
    origin.run("sync")
    assert sorted(f"Choice {n}" for n in range(20)) == seen(origin)
