"""The trust rule, signing, and events that are dated in the future: what of others' memory counts, and from when on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TestRepo
from prepared import prepared, start

from cortex_git.env import rfc3339
from cortex_git.events import codec
from cortex_git.events.model import Event
from cortex_git.store import refs, trust
from cortex_git.store.backend import Update
from cortex_git.store.gitcli import GitBackend
from cortex_git.store.repo import Repo, require

DAY = 24 * 3600.0
THEIRS = f"refs/cortex/remotes/origin/{'b' * 12}/01234567"


@pytest.fixture
def team(repo: TestRepo) -> TestRepo:
    """A repository with a memory whose folder is committed on main."""
    return prepared(repo, start)


@pytest.fixture
def signer(tmp_path: Path) -> Path:
    """An ssh key, and beside it the file of signers that are allowed."""
    if not shutil.which("ssh-keygen"):
        pytest.skip("needs ssh-keygen")
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    (tmp_path / "allowed").write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
    return key


def sign_with(repo: TestRepo, key: Path) -> None:
    """Sign what is pushed."""
    repo.git("config", "gpg.format", "ssh")
    repo.git("config", "user.signingKey", str(key))
    repo.git("config", "cortex.sign", "true")


def trust_only(repo: TestRepo, allowed: Path) -> None:
    """Count only what these signers have signed."""
    repo.git("config", "gpg.ssh.allowedSignersFile", str(allowed))
    repo.git("config", "cortex.trust", "signed")


def opened(repo: TestRepo) -> tuple[Repo, GitBackend]:
    found = require(str(repo.path), os.environ)
    return found, GitBackend(found)


def decide(repo: TestRepo, text: str) -> str:
    return str(json.loads(repo.run("decide", text, "--json").out)["id"])


def seen(repo: TestRepo, *arguments: str) -> set[str]:
    out = repo.run("log", "--json", "--type", "decision", *arguments).out
    return {event["content"] for event in json.loads(out)}


def joined(team: TestRepo, tmp_path: Path) -> TestRepo:
    """Share through a hub, and join it from another clone."""
    hub = tmp_path / "hub.git"
    team.git("init", "-q", "--bare", str(hub))
    team.git("remote", "add", "origin", str(hub))
    team.git("push", "-q", "origin", "main")
    team.run("share", "origin", "--yes")
    other = TestRepo(tmp_path / "other")
    team.git("clone", "-q", str(hub), str(other.path))
    other.run("init", "--yes", "--no-plugin")
    other.run("share", "origin", "--yes")
    return other


def theirs(repo: TestRepo, *events: Event) -> None:
    """Put events where a fetch would put those of another clone, on no branch of ours."""
    _, backend = opened(repo)
    old = backend.refs(THEIRS).get(THEIRS)
    backend.append([Update(THEIRS, old, [codec.encode_segment(events)], "cortex: events\n")])


def test_only_what_is_signed_counts(team: TestRepo, signer: Path, tmp_path: Path) -> None:
    """With the rule an unsigned ref counts for nothing, and a signed one up to its signature."""
    other = joined(team, tmp_path)
    decide(team, "Unsigned")
    team.run("sync")
    trust_only(other, tmp_path / "allowed")
    other.run("sync")
    assert set() == seen(other, "--all")

    sign_with(team, signer)
    decide(team, "Signed")
    team.run("sync")
    other.run("sync")
    assert {"Unsigned", "Signed"} == seen(other, "--all")

    team.git("config", "cortex.sign", "false")
    decide(team, "After the signature")
    team.run("sync")
    other.run("sync")
    assert {"Unsigned", "Signed"} == seen(other, "--all")
    assert "not signed" in other.run("doctor", check=False).out


def test_a_stranger_signs_in_vain(team: TestRepo, signer: Path, tmp_path: Path) -> None:
    """A signature by somebody who is not allowed counts for nothing, until they are."""
    other = joined(team, tmp_path)
    sign_with(team, signer)
    decide(team, "Signed by a stranger")
    team.run("sync")
    (tmp_path / "nobody").write_text("")
    trust_only(other, tmp_path / "nobody")
    other.run("sync")
    assert set() == seen(other, "--all")

    trust_only(other, tmp_path / "allowed")

    assert {"Signed by a stranger"} == seen(other, "--all")


def test_signed_pushes_only_go_forward(team: TestRepo, signer: Path, tmp_path: Path) -> None:
    """What is pushed again and again with signatures is a fast-forward each time, and keeps its anchors."""
    other = joined(team, tmp_path)
    sign_with(team, signer)
    trust_only(other, tmp_path / "allowed")
    for number in range(3):
        team.git("switch", "-qc", f"b{number}", "main")
        decide(team, f"Number {number}")
        team.commit({f"f{number}": "1\n"})
        decide(team, f"Last of {number}")
        team.git("push", "-q", "origin", f"b{number}")
        team.run("sync")
        other.run("sync")
        team.git("switch", "-q", "main")
        team.git("merge", "-q", "--no-edit", f"b{number}")
    team.git("push", "-q", "origin", "main")
    team.run("sync")

    other.run("sync")
    other.git("pull", "-q")

    texts = {f"Number {number}" for number in range(3)}
    assert texts <= seen(other)
    assert texts | {f"Last of {number}" for number in range(3)} == seen(other, "--all")
    ours = team.git("for-each-ref", "--format=%(objectname)", "refs/notes/cortex").split()
    assert not [tip for tip in ours if "gpgsig" in team.git("cat-file", "commit", tip)]


def test_verdicts_are_kept(team: TestRepo, signer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit is verified once: later reads start no verification."""
    other = joined(team, tmp_path)
    sign_with(team, signer)
    decide(team, "Signed")
    team.run("sync")
    trust_only(other, tmp_path / "allowed")
    other.run("sync")
    assert {"Signed"} == seen(other, "--all")
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE", str(trace))

    repo, backend = opened(other)
    assert refs.all_refs(repo, backend)

    assert "verify-commit" not in trace.read_text()


def test_a_purge_keeps_what_was_trusted(team: TestRepo, signer: Path, tmp_path: Path) -> None:
    """What remains of a signed ref that a purge here wrote anew still counts, and so does what its owner sends."""
    other = joined(team, tmp_path)
    sign_with(team, signer)
    id = decide(team, "Regretted words")
    decide(team, "Signed")
    team.run("sync")
    trust_only(other, tmp_path / "allowed")
    other.run("sync")
    assert {"Regretted words", "Signed"} == seen(other, "--all")

    other.run("purge", id, "--yes")
    assert {"Signed"} == seen(other, "--all")
    sign_with(other, signer)
    other.run("sync")
    team.run("sync")
    assert {"Signed"} == seen(team, "--all")
    decide(team, "Later")
    team.run("sync")
    other.run("sync")

    assert {"Signed", "Later"} == seen(other, "--all")


def test_without_the_rule_nothing_is_verified(team: TestRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the rule is not set no signature is looked at and everything fetched counts."""
    theirs(team, Event("decision_made", "Theirs", time="2026-01-01T00:00:00.000Z"))
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE", str(trace))

    assert {"Theirs"} == seen(team, "--all")

    assert "verify-commit" not in trace.read_text()
    assert not trust.is_asked_for(opened(team)[0])


def test_a_committed_setting_does_not_count(team: TestRepo) -> None:
    """The rule is a setting of the clone: nothing that is checked out can turn it on or off."""
    team.git("config", "cortex.trust", "signed")
    team.write({".cortex/config.toml": 'trust = "all"\n[cortex]\ntrust = "all"\n'})

    assert trust.is_asked_for(opened(team)[0])


# ---- dates in the future


def test_an_event_of_the_future_waits_for_its_time(team: TestRepo) -> None:
    """It is set aside and counted, in lists, briefing and search, and is there when its time has come."""
    now = team.clock()
    date = rfc3339(now + 30 * DAY)
    dates = {"From the future": date, "Of today": "2026-01-01T00:00:00.000Z"}
    theirs(team, *(Event("decision_made", text, time=time) for text, time in dates.items()))
    _adopt(team)
    assert {"Of today"} == seen(team)
    assert "From the future" not in team.run("search", "future", check=False).out
    assert "From the future" not in _briefing(team)
    assert "1 event" in team.run("doctor", check=False).out

    team.clock = lambda: now + 28 * DAY
    assert {"Of today"} == seen(team)
    team.clock = lambda: now + 29.5 * DAY

    assert {"Of today", "From the future"} == seen(team)
    assert "From the future" in team.run("search", "future").out
    assert "From the future" in _briefing(team)
    assert "future" not in team.run("doctor", check=False).out.replace("From the future", "")


def test_a_clock_that_is_a_little_ahead_hides_nothing(team: TestRepo) -> None:
    """Clocks differ: less than a day ahead is shown."""
    theirs(team, Event("decision_made", "Elsewhere it is tomorrow", time=rfc3339(team.clock() + 0.9 * DAY)))
    _adopt(team)

    assert {"Elsewhere it is tomorrow"} == seen(team)


def test_what_this_clone_said_is_always_shown(team: TestRepo) -> None:
    """A clock that was set back, or ran ahead, hides nothing of what was recorded in this very clone."""
    now = team.clock()
    team.clock = lambda: now + 400 * DAY
    decide(team, "Said with a wrong clock")
    team.clock = lambda: 0.0

    assert {"Said with a wrong clock"} == seen(team)
    assert "wrong clock" in team.run("search", "clock").out
    assert "Said with a wrong clock" in _briefing(team)


def test_an_item_of_the_future_waits_too(team: TestRepo, tmp_path: Path) -> None:
    """A committed file whose event is dated ahead is set aside in a clone without notes, until its time comes."""
    now = team.clock()
    team.clock = lambda: now + 100 * DAY
    decide(team, "Ahead of its time")
    team.run("project")
    team.git("commit", "-qm", "It is committed", "--no-verify")
    other = TestRepo(tmp_path / "other", lambda: now)
    team.git("clone", "-q", str(team.path), str(other.path))
    other.run("init", "--yes", "--no-plugin")
    assert set() == seen(other)

    other.clock = lambda: now + 100 * DAY

    assert {"Ahead of its time"} == seen(other)
    assert "Ahead of its time" in _briefing(other)


def test_a_future_change_of_state_waits(team: TestRepo) -> None:
    """A retraction that is dated ahead retracts nothing until its time has come."""
    now = team.clock()
    id = decide(team, "Use SQLite")
    theirs(team, Event("retracted", "no", time=rfc3339(now + 30 * DAY), target=id))
    _adopt(team)
    assert ({"Use SQLite"}, True) == (seen(team), "SQLite" in team.run("search", "SQLite").out)

    team.clock = lambda: now + 30 * DAY

    assert (set(), False) == (seen(team), "SQLite" in team.run("search", "SQLite", check=False).out)


def _adopt(repo: TestRepo) -> None:
    """Have the other clone's branch reached from main."""
    _, backend = opened(repo)
    tip = backend.refs(THEIRS)[THEIRS]
    head = repo.git("rev-parse", "HEAD")
    backend.append([Update(THEIRS, tip, [], f"cortex: anchored\n\nCortex-Commit: {head}\nCortex-Upto: {tip}\n")])


def _briefing(repo: TestRepo) -> str:
    from cortex_git import live
    from cortex_git.env import Env
    from cortex_git.memory import Memory

    env = Env(os.environ, str(repo.path), repo.clock, None, None, None)  # type: ignore[arg-type]
    return live.refresh(Memory.open(env, "git"), rules=False)


def test_what_nobody_signed_is_not_taken_over_as_our_own(team: TestRepo, signer: Path, tmp_path: Path) -> None:
    """An unsigned commit that somebody else has put at the hub under our clone's name stays out of our refs."""
    other = joined(team, tmp_path)
    trust_only(other, tmp_path / "allowed")
    decide(team, "Use an attack")
    team.run("sync")
    clone = opened(other)[0].clone
    theirs = team.git("for-each-ref", "--format=%(refname)", "refs/notes/cortex").split()[0]
    ours = "/".join([*theirs.split("/")[:-1], clone])
    hub = TestRepo(tmp_path / "hub.git")
    hub.git("update-ref", ours, theirs)
    done = other.run("sync")

    assert "were not taken over" in done.out
    assert ours not in other.git("for-each-ref", "refs/notes/cortex")
    assert "Use an attack" not in seen(other)
