"""What a storage backend must do when it reads, in which repositories, and what git itself makes of a store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import MAIL, NAME, ROOT, TestRepo
from formats import needs_libgit2
from stores import BACKENDS, MISSING, OTHER, REF, contents, id_of, opened, placed, put

from cortex_git.errors import CortexError
from cortex_git.store import backend as contract
from cortex_git.store.backend import Backend, RefMoved, Update
from cortex_git.store.gitcli import GitBackend
from cortex_git.store.libgit2 import Libgit2Backend
from cortex_git.store.open import open_backend
from cortex_git.store.repo import require


@pytest.fixture(params=sorted(BACKENDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(kind: str, repo: TestRepo) -> Backend:
    return opened(kind, repo.path)


# --- reading ---------------------------------------------------------------------------------------------------------


def test_refs_are_found_by_whole_parts(store: Backend, repo: TestRepo) -> None:
    """A prefix is a whole name or ends where a part of the name ends."""
    tip = repo.commit()
    names = ["refs/notes/cortex/a/1", "refs/notes/cortex-local/a/1", "refs/notes/cortexes", "refs/notes/cortex/b/1"]
    for name in names:
        store.update(name, tip, None)

    assert {names[0], names[3]} == set(store.refs("refs/notes/cortex"))
    assert {names[0], names[1]} == set(store.refs("refs/notes/cortex/a/", "refs/notes/cortex-local"))
    assert {names[0]: tip} == store.refs(names[0])
    assert {} == store.refs("refs/notes/cort")
    assert {*names, "refs/heads/main"} == set(store.refs())


def test_refs_of_any_kind_are_read(store: Backend, repo: TestRepo) -> None:
    """A symbolic ref is where it leads, a dangling one is left out, a name may be any bytes, a tag is the tag."""
    tip = repo.commit()
    odd = os.fsdecode(b"refs/heads/\xff-\xe2\x80\xa8\xc3\xbc")
    repo.git("update-ref", odd, tip)
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/main")
    repo.git("symbolic-ref", "refs/remotes/gone/HEAD", "refs/heads/gone")
    repo.git("tag", "-a", "-m", "a tag", "v1")

    assert {
        odd: tip,
        "refs/heads/main": tip,
        "refs/remotes/origin/HEAD": tip,
        "refs/tags/v1": repo.git("rev-parse", "refs/tags/v1"),
    } == store.refs("refs/heads", "refs/remotes", "refs/tags")


def test_only_plain_files_count(store: Backend, repo: TestRepo) -> None:
    """Executables, links and submodules are no part of a tree; names may be any bytes."""
    odd = os.fsdecode(b"d/\xff\n\xc3\xbc")
    repo.write({"plain": "1", "d/e/f": "2", "run": "3", odd: "4"})
    (repo.path / "run").chmod(0o755)
    (repo.path / "link").symlink_to("plain")
    repo.git("add", "-A")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{MISSING},sub")
    repo.git("commit", "-qm", "all kinds")

    assert {"plain", "d/e/f", odd} == set(store.tree("HEAD"))
    assert repo.git("rev-parse", "HEAD:d/e/f") == store.tree("HEAD")["d/e/f"]


def test_a_folder_is_read_by_itself(store: Backend, repo: TestRepo) -> None:
    """Paths are those from the root; a file, or nothing, in place of the folder is an empty answer."""
    repo.commit({".cortex/a": "1", ".cortex/d/b": "2", ".cortexes/c": "3", "file": "4", "x/y/z": "5"})

    for folder in (".cortex", ".cortex/"):
        assert {".cortex/a", ".cortex/d/b"} == set(store.tree("main", folder))
    assert {"x/y/z"} == set(store.tree("HEAD", "x/y"))
    assert {} == store.tree("HEAD", "file") == store.tree("HEAD", "none") == store.tree("HEAD", "file/none")


def test_the_segments_of_many_notes_commits_are_those_of_their_trees(store: Backend, repo: TestRepo) -> None:
    """Asking for many at once gives what asking one by one gives, in any depth and of plain files only."""
    files = {"ab/c": "1", "ab/d": "2", "flat": "3", "x/y/z": "4"}
    tips = [repo.commit({name: text}) for name, text in files.items()]
    (repo.path / "link").symlink_to("flat")
    repo.git("add", "link")
    tips += [repo.commit(), repo.commit({"ab/c": "5"})]

    found = store.segments(tips)

    assert {tip: sorted(store.tree(tip).values()) for tip in tips} == {tip: sorted(ids) for tip, ids in found.items()}
    with pytest.raises(CortexError):
        store.segments([*tips, MISSING])


@pytest.mark.parametrize("rev", ["HEAD", "nowhere", MISSING, "--help", ""])
def test_a_revision_that_is_not_there_is_an_error(rev: str, store: Backend) -> None:
    """In a repository without commits no revision has a tree."""
    with pytest.raises(CortexError) as caught:
        store.tree(rev)
    assert "\n" not in str(caught.value)


def test_blobs_that_cannot_be_used_are_passed_over(store: Backend, repo: TestRepo) -> None:
    """What is missing, no blob, no id or too large is left out; the rest comes once each, in the order of asking."""
    commit = repo.commit({"small": "s" * 10, "large": "l" * 11, "d/f": "f"})
    small, large, file = (repo.git("rev-parse", f"HEAD:{name}") for name in ("small", "large", "d/f"))
    junk = ["", "HEAD", "main", small[:12], small.upper() + "0", small + "\n", "z" * 40, MISSING, "5" * 64]

    asked = [file, commit, repo.git("rev-parse", "HEAD:d"), *junk, large, small, file]

    assert [(file, b"f"), (small, b"s" * 10)] == list(store.blobs(asked, max_size=10))
    assert [file, large, small] == [id for id, _ in store.blobs(asked)]
    assert [] == list(store.blobs([]))


def test_much_is_read_without_a_standstill(store: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """More ids and more bytes than any pipe holds come through whole, in however many parts."""
    monkeypatch.setattr("cortex_git.store.gitcli._BATCH", 1_000_000)
    blobs = {id_of(data): data for data in (b"%d " % n * 400 for n in range(3000))}
    tip = put(store, *blobs.values())

    assert blobs == dict(store.blobs(store.tree(tip).values()))


def test_history_goes_back_to_what_is_known(store: Backend) -> None:
    """Newest first, without what is known; a known commit that is missing hides nothing."""
    made = [put(store, b"%d" % n, message=f"commit {n}\n\nbody\n") for n in range(4)]
    made.reverse()

    assert made == [commit.id for commit in store.history(made[0])]
    assert made[:2] == [commit.id for commit in store.history(made[0], made[2])]
    assert made == [commit.id for commit in store.history(made[0], MISSING)]
    assert [] == store.history(made[1], made[0])
    newest = store.history(made[0])[0]
    assert (f"{NAME} <{MAIL}>", "commit 3\n\nbody\n") == (newest.author, newest.message)
    assert newest.time.endswith(".000Z")


def test_history_of_nothing_is_an_error(store: Backend) -> None:
    """A tip that is not there is said, not taken for an empty history."""
    with pytest.raises(CortexError):
        store.history(MISSING)


def test_history_reads_what_others_wrote(store: Backend, repo: TestRepo) -> None:
    """A foreign commit's odd name, message and encoding come out as text, and every commit of a merge once."""
    tree = repo.git("mktree")
    one = repo.git("commit-tree", "-m", "one\n\n\n\nCortex-Branch: a b", tree)
    raw = f"tree {tree}\nparent {one}\nauthor \udce9 X <> 1 +0000\ncommitter \udce9 X <> 1767225600 +0000\n\n\udce9"
    two = repo.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", input=raw)
    tip = repo.git("commit-tree", "-m", "merge", "-p", two, "-p", one, tree)

    found = store.history(tip)

    assert [tip, two, one] == [commit.id for commit in found]
    assert ("� X <>", "�\n", "2026-01-01T00:00:00.000Z") == (found[1].author, found[1].message, found[1].time)
    assert "one\n\n\n\nCortex-Branch: a b\n" == found[2].message


def test_reachable_are_head_and_what_it_grew_from(store: Backend, repo: TestRepo) -> None:
    """Ancestors and head itself are; commits of another branch, missing ones and other objects are not."""
    base = repo.commit({"a": "1"})
    repo.git("switch", "-qc", "side")
    side = [repo.commit() for _ in range(3)]
    repo.git("switch", "-q", "main")
    head = repo.commit()
    blob, tree = repo.git("rev-parse", "HEAD:a"), repo.git("rev-parse", "HEAD^{tree}")
    asked = [base, head, *side, MISSING, blob, tree, "", "HEAD", "main"]

    assert {base, head} == store.reachable(head, asked)
    assert {base, *side[:2]} == store.reachable(side[1], asked)
    assert set() == store.reachable(head, [])
    repo.git("merge", "-q", "side")
    assert {base, head, *side} == store.reachable(repo.git("rev-parse", "HEAD"), asked)


def test_replaced_objects_are_themselves(store: Backend, repo: TestRepo) -> None:
    """`git replace` changes nothing of what is stored or reached."""
    base, head = repo.commit({"a": "1"}), repo.commit({"a": "2"})
    old, new = repo.git("rev-parse", f"{base}:a"), repo.git("rev-parse", f"{head}:a")
    repo.git("replace", old, new)
    repo.git("replace", "--graft", head)

    assert [(old, b"1")] == list(store.blobs([old]))
    assert {base} == store.reachable(head, [base])


def test_a_shallow_clone_ends_where_it_ends(kind: str, repo: TestRepo) -> None:
    """What a shallow clone does not have counts as not reachable."""
    commits = [repo.commit() for _ in range(3)]
    repo.git("clone", "-q", "--depth", "2", f"file://{repo.path}", "../shallow")

    store = opened(kind, repo.path.parent / "shallow")

    assert set(commits[1:]) == store.reachable(commits[2], commits)
    assert commits[:0:-1] == [commit.id for commit in store.history(commits[2], commits[0])]


# --- repositories of all kinds ---------------------------------------------------------------------------------------


def test_a_linked_work_tree_shares_the_store(kind: str, repo: TestRepo) -> None:
    """What one work tree stores the other reads."""
    repo.commit()
    repo.git("worktree", "add", "-q", "-b", "other", "../linked")
    here, there = opened(kind, repo.path), opened(kind, repo.path.parent / "linked")

    put(there, b"one")

    assert {b"one"} == contents(here, REF)
    assert here.refs() == there.refs()


def test_a_bare_repository_is_a_store(kind: str, tmp_path: Path, home: Path) -> None:
    """A repository without work tree is written and read like any other."""
    TestRepo.make(tmp_path / "bare", "--bare")
    store = opened(kind, tmp_path / "bare")

    put(store, b"one")

    assert {b"one"} == contents(store, REF)


@pytest.fixture(params=["--object-format=sha256", "--ref-format=reftable"])
def newer(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> TestRepo:
    """A repository of a format that libgit2 does not know."""
    command = ["git", "init", "-q", request.param, str(tmp_path / "newer")]
    if subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
        pytest.skip(f"this git knows no {request.param}")
    return TestRepo(tmp_path / "newer")


def test_what_libgit2_cannot_open_git_can(newer: TestRepo) -> None:
    """A repository of a newer format is stored into by git, whichever backend was preferred."""
    repo = newer
    object_format = repo.git("rev-parse", "--show-object-format")
    head = repo.commit({"a": "1"})
    store = open_backend(require(str(repo.path), os.environ))

    assert isinstance(store, GitBackend)
    first = put(store, b"one")
    second = put(store, b"two")
    assert placed(b"one", b"two", object_format=object_format) == store.tree(second)
    assert {b"one", b"two"} == contents(store, REF)
    assert [second] == [commit.id for commit in store.history(second, first)]
    assert {head} == store.reachable(head, [head, second])
    for old in (first, None):
        with pytest.raises(RefMoved):
            store.append([Update(REF, old, [], "late\n")])
    store.update(REF, None, second)
    assert {} == store.refs("refs/notes")


def test_a_lock_on_the_table_of_refs_is_named_too(tmp_path: Path, home: Path) -> None:
    """Where all refs share one lock, a stale one is named as well."""
    command = ["git", "init", "-q", "--ref-format=reftable", str(tmp_path / "newer")]
    if subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("this git knows no reftable")
    store = opened("git", tmp_path / "newer")
    lock = tmp_path / "newer/.git/reftable/tables.list.lock"
    lock.touch()

    with pytest.raises(CortexError, match="remove that file") as caught:
        put(store, b"one")
    assert str(lock) in str(caught.value)
    assert lock.exists()


def test_a_partial_clone_does_not_download(kind: str, repo: TestRepo) -> None:
    """Blobs that a partial clone left behind count as missing."""
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.commit({"a": "1"})
    repo.git("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repo.path}", "../partial")
    store = opened(kind, repo.path.parent / "partial")

    assert {"a"} == set(store.tree("HEAD"))
    assert [] == list(store.blobs(store.tree("HEAD").values()))
    put(store, b"one")
    assert {b"one"} == contents(store, REF)


@needs_libgit2
def test_libgit2_is_taken_where_it_can_open(repo: TestRepo) -> None:
    """Commands get libgit2, hooks ask for git."""
    here = require(str(repo.path), os.environ)

    assert isinstance(open_backend(here), Libgit2Backend)
    assert isinstance(open_backend(here, "git"), GitBackend)


# --- what git makes of it --------------------------------------------------------------------------------------------


def test_git_notes_can_list_and_show(store: Backend, repo: TestRepo) -> None:
    """A segment is a note on itself: `git notes` lists it and shows it."""
    put(store, b'["one"]\n', b'["two"]\n')
    ids = sorted(map(id_of, (b'["one"]\n', b'["two"]\n')))

    assert [f"{id} {id}" for id in ids] == sorted(repo.git("notes", "--ref", REF, "list").splitlines())
    assert '["one"]' == repo.git("notes", "--ref", REF, "show", id_of(b'["one"]\n'))


def test_cleaning_up_loses_nothing(store: Backend, repo: TestRepo) -> None:
    """After gc and notes prune all is there, and fsck has nothing to say."""
    blobs = [b"segment %d" % n for n in range(30)]
    for blob in blobs:
        tip = put(store, blob)

    repo.git("notes", "--ref", REF, "prune")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "--quiet", "--prune=now")

    assert "" == repo.git("fsck", "--strict", "--no-dangling")
    assert set(blobs) == contents(store, REF)
    assert 30 == len(store.history(tip))
    put(store, b"after")
    assert {*blobs, b"after"} == contents(store, REF)


@pytest.mark.parametrize("many", [3, 300])
def test_git_notes_merge_is_a_union(many: int, store: Backend, repo: TestRepo) -> None:
    """Two trees that grew apart merge without conflict, whatever fan-out git then chooses, and grow on."""
    base = put(store, b"common")
    put(store, *(b"ours %d" % n for n in range(many)))
    store.update(OTHER, base, None)
    put(store, *(b"theirs %d" % n for n in range(many)), b"common", ref=OTHER)

    repo.git("notes", "--ref", REF, "merge", OTHER)
    put(store, b"later", b"common")

    expected = {b"common", b"later", *(b"%s %d" % (who, n) for who in (b"ours", b"theirs") for n in range(many))}
    assert expected == contents(store, REF)
    assert {f"{id} {id}" for id in map(id_of, expected)} == set(repo.git("notes", "--ref", REF, "list").splitlines())
    assert "theirs 1" == repo.git("notes", "--ref", REF, "show", id_of(b"theirs 1"))


# --- what it costs ---------------------------------------------------------------------------------------------------


def test_an_append_is_two_processes(repo: TestRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With git, one process writes the objects of all refs and one moves the refs."""
    store = opened("git", repo.path)
    old = put(store, b"one")
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(tmp_path / "trace"))

    store.append([Update(REF, old, [b"two"], "x\n"), Update(OTHER, None, [b"three"], "x\n")])

    records = [json.loads(line) for line in (tmp_path / "trace").read_text().splitlines()]
    started = [record["argv"] for record in records if record["event"] == "start" and "/" not in record["sid"]]
    assert ["fast-import", "update-ref"] == [
        next(part for part in argv[1:] if part in ("fast-import", "update-ref")) for argv in started
    ]


def test_git_is_reached_without_slow_imports(repo: TestRepo) -> None:
    """A process that appends through git loads neither libgit2 nor any other slow module."""
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from cortex_git.store import backend, open, repo\n"
        f"store = open.open_backend(repo.require({str(repo.path)!r}, {{}}), 'git')\n"
        f"store.append([backend.Update({REF!r}, None, [b'one'], 'x')])\n"
        "print(' '.join(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, check=True, text=True)

    slow = {"dataclasses", "datetime", "hashlib", "inspect", "logging", "pathlib", "pygit2", "tempfile", "typing"}
    assert set() == slow & set(done.stdout.split())


def test_limits_are_what_the_format_says() -> None:
    """The largest blob that is read unasked has 4 MiB."""
    assert 4 * 2**20 == contract.MAX_BLOB
