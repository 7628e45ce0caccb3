"""What a storage backend must do when it writes: one suite for git's commands and for libgit2."""

from __future__ import annotations

import os
import subprocess
import sys

import formats
import pytest
from conftest import MAIL, NAME, ROOT, TestRepo
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import BACKENDS, MISSING, OTHER, REF, contents, id_of, opened, placed, put

from cortex_git.errors import CortexError
from cortex_git.store.backend import Backend, RefMoved, Update


@pytest.fixture(params=sorted(BACKENDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(kind: str, repo: TestRepo) -> Backend:
    return opened(kind, repo.path)


# --- writing ---------------------------------------------------------------------------------------------------------


def test_a_segment_lies_under_its_own_id(store: Backend) -> None:
    """Each blob is found at its own id, one level deep, and reads back byte for byte."""
    blobs = (b'["one"]\n', b"", b"\0\xff\r\n" * 1000)

    tip = put(store, *blobs)

    assert placed(*blobs) == store.tree(tip)
    assert set(blobs) == contents(store, REF)


def test_a_tree_only_grows(store: Backend) -> None:
    """What was stored before stays, in one line of commits, and storing it again changes nothing."""
    first = put(store, b"one", b"two")
    second = put(store, b"three")
    third = put(store, b"one")

    assert placed(b"one", b"two", b"three") == store.tree(second) == store.tree(third)
    assert [third, second, first] == [commit.id for commit in store.history(third)]


def test_an_anchor_has_the_tree_before(store: Backend, repo: TestRepo) -> None:
    """A commit without blobs leaves the tree as it was."""
    first, second = put(store, b"one"), put(store, message="cortex: anchored\n\nCortex-Commit: x\n")

    assert repo.git("rev-parse", f"{first}^{{tree}}") == repo.git("rev-parse", f"{second}^{{tree}}")


def test_a_ref_may_begin_with_an_anchor(store: Backend) -> None:
    """A first commit without blobs has an empty tree."""
    assert {} == store.tree(put(store))


def test_several_refs_take_one_call(store: Backend) -> None:
    """Each ref gets its own blobs, and the tips come back in the order of asking."""
    one, two = store.append([Update(OTHER, None, [b"b"], "two\n"), Update(REF, None, [b"a"], "one\n")])

    assert {OTHER: one, REF: two} == store.refs()
    assert (placed(b"b"), placed(b"a")) == (store.tree(one), store.tree(two))


def test_nothing_to_append_is_nothing_done(store: Backend) -> None:
    """An empty call writes nothing."""
    assert [] == store.append([])
    assert {} == store.refs()


def test_many_blobs_at_once(store: Backend) -> None:
    """A large append is whole."""
    blobs = [b"segment %d" % n for n in range(300)]

    assert placed(*blobs) == store.tree(put(store, *blobs))


def test_a_commit_is_the_users(store: Backend, repo: TestRepo) -> None:
    """Author and committer are who git says the user is, the time is now, the message is kept."""
    text = "cortex: 7 événements on ünï\n\nCortex-Branch: ünï\n"
    before = int(repo.git("var", "GIT_COMMITTER_IDENT").split()[-2])

    tip = put(store, b"one", message=text)

    shown = repo.git("log", "-1", "--format=%an|%ae|%cn|%ce|%ct|%B", tip).split("|")
    assert [NAME, MAIL, NAME, MAIL] == shown[:4]
    assert before <= int(shown[4]) <= before + 60
    assert text.strip() == shown[5].strip()


def test_a_message_that_git_forbids_is_mended(store: Backend, repo: TestRepo) -> None:
    """Lone surrogates and NUL bytes in a message do not get into a commit."""
    tip = put(store, b"one", message="cortex: a\udcffb\0c")

    assert "cortex: a?bc\n" == store.history(tip)[0].message
    assert "" == repo.git("fsck", "--strict", "--no-dangling")


def test_no_hook_runs_and_nothing_is_signed(store: Backend, repo: TestRepo) -> None:
    """Neither the user's hooks nor their signing have a part in it."""
    for name in ("reference-transaction", "pre-commit", "commit-msg", "post-commit"):
        repo.write({f".git/hooks/{name}": f"#!/bin/sh\necho {name} >>'{repo.path}/ran'\n"})
        (repo.path / ".git/hooks" / name).chmod(0o755)
    repo.git("config", "hook.A b.event", "reference-transaction")
    repo.git("config", "hook.A b.command", f"echo >>'{repo.path}/ran'")
    repo.git("config", "commit.gpgSign", "true")
    repo.git("config", "gpg.program", "false")

    tip = put(store, b"one")
    store.update(REF, None, tip)

    assert not (repo.path / "ran").exists()
    assert "gpgsig" not in repo.git("cat-file", "commit", tip)


def test_foreign_entries_are_kept(store: Backend, repo: TestRepo) -> None:
    """What others have put into a notes tree, in whatever form, is still there after an append."""
    flat, deep = (repo.git("hash-object", "-w", "--stdin", input=text) for text in ("flat", "deep"))
    repo.git("read-tree", "--empty")
    for path in (flat, f"{deep[:2]}/{deep[2:4]}/{deep[4:]}", "README"):
        repo.git("update-index", "--add", "--cacheinfo", f"100644,{flat if path == flat else deep},{path}")
    start = repo.git("commit-tree", "-m", "foreign", repo.git("write-tree"))
    store.update(REF, start, None)

    tip = put(store, b"ours")

    assert {**store.tree(start), **placed(b"ours")} == store.tree(tip)
    assert {b"flat", b"deep", b"ours"} == contents(store, tip)


def test_a_file_where_a_folder_must_be_gives_way(store: Backend, repo: TestRepo) -> None:
    """A foreign file with the name of a fan-out folder does not stop an append."""
    folder = id_of(b"ours")[:2]
    blob = repo.git("hash-object", "-w", "--stdin", input="in the way")
    tree = repo.git("mktree", input=f"100644 blob {blob}\t{folder}\n")
    store.update(REF, repo.git("commit-tree", "-m", "odd", tree), None)

    assert placed(b"ours") == store.tree(put(store, b"ours"))


@settings(max_examples=20)
@given(groups=st.lists(st.lists(st.binary(max_size=40), max_size=6), min_size=1, max_size=4))
def test_both_backends_make_the_same_trees(groups: list[list[bytes]], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever is appended in whatever steps, the trees are the same objects."""
    repo = TestRepo.make(tmp_path_factory.mktemp("same"))
    trees = set()
    for kind in BACKENDS:
        store = opened(kind, repo.path)
        for group in groups:
            put(store, *group, ref=f"{REF}{kind}")
        trees.add(repo.git("rev-parse", f"{REF}{kind}^{{tree}}"))

    assert 1 == len(trees)


# --- compare and swap ------------------------------------------------------------------------------------------------


def test_a_ref_that_moved_is_left_alone(store: Backend) -> None:
    """Whoever saw an older state, or none, is refused by name, and the ref stays as it is."""
    first = put(store, b"one")
    second = put(store, b"two")

    for old in (first, None, MISSING):
        with pytest.raises((RefMoved, CortexError)):
            store.append([Update(REF, old, [b"lost"], "late\n")])
    with pytest.raises(RefMoved) as caught:
        store.append([Update(REF, first, [b"lost"], "late\n")])

    assert REF == caught.value.ref
    assert {REF: second} == store.refs()


def test_a_ref_that_is_gone_is_not_made_anew(store: Backend) -> None:
    """A writer that saw a ref before it was removed does not bring it back."""
    tip = put(store, b"one")
    store.update(REF, None, tip)

    with pytest.raises(RefMoved):
        store.append([Update(REF, tip, [b"two"], "late\n")])
    assert {} == store.refs()


def test_a_failed_call_leaves_no_litter(store: Backend, repo: TestRepo) -> None:
    """An append to a commit that does not exist is one clear error, and no report of a crash lies about."""
    before = sorted(os.listdir(repo.path / ".git"))

    with pytest.raises(CortexError) as caught:
        store.append([Update(REF, MISSING, [b"one"], "x\n")])

    assert "\n" not in str(caught.value)
    assert before == sorted(os.listdir(repo.path / ".git"))


def test_update_makes_moves_and_removes(store: Backend, repo: TestRepo) -> None:
    """Each of the three needs the value that the ref has."""
    one, two = repo.commit(), repo.commit()
    name = "refs/cortex/remotes/origin/x"

    store.update(name, one, None)
    for new, old in ((two, two), (two, None), (None, two)):
        with pytest.raises(RefMoved):
            store.update(name, new, old)
    assert {name: one} == store.refs(name)

    store.update(name, two, one)
    assert {name: two} == store.refs(name)
    store.update(name, None, two)
    assert {} == store.refs(name)


def test_a_packed_ref_is_like_any_other(store: Backend, repo: TestRepo) -> None:
    """Refs in the packed file are read, moved and removed, and do not come back."""
    first = put(store, b"one")
    repo.git("pack-refs", "--all")

    second = put(store, b"two")
    assert {REF: second} == store.refs()
    repo.git("pack-refs", "--all")
    with pytest.raises(RefMoved):
        store.update(REF, None, first)
    store.update(REF, None, second)
    assert {} == store.refs()


def test_a_lock_that_was_left_is_named_and_stays(store: Backend, repo: TestRepo) -> None:
    """A stale lock is the user's to remove: the error names the file, nothing is written."""
    tip = put(store, b"one")
    lock = formats.lock_of(repo.path / ".git", REF)
    lock.touch()

    with pytest.raises(CortexError, match="remove that file") as caught:
        put(store, b"two")

    assert str(lock) in str(caught.value)
    assert lock.exists()
    assert {REF: tip} == store.refs()


def test_a_ref_that_cannot_be_written_is_an_error(store: Backend, repo: TestRepo) -> None:
    """Where another ref's name is in the way, the error is one line."""
    tip = repo.commit()
    store.update(REF.rpartition("/")[0], tip, None)

    with pytest.raises(CortexError) as caught:
        put(store, b"one")
    assert not isinstance(caught.value, RefMoved)
    assert "\n" not in str(caught.value)
    assert {REF.rpartition("/")[0]: tip} == store.refs("refs/notes")


@pytest.mark.parametrize("name", ["HEAD", "refs/x y", "refs/a\nreset refs/heads/main", "refs/a..b", "refs/a.lock", "x"])
def test_what_cannot_be_a_ref_is_refused(name: str, store: Backend) -> None:
    """A name with which git could be led astray is an error before anything runs."""
    with pytest.raises(CortexError, match="cannot be the name"):
        store.append([Update(name, None, [b"x"], "x\n")])
    with pytest.raises(CortexError, match="cannot be the name"):
        store.update(name, MISSING, None)


def test_parallel_writers_lose_nothing(kind: str, repo: TestRepo) -> None:
    """Forty processes that write one ref at once, repeating when they are late, all find their segment in it."""
    program = (
        "import os, random, sys, time; root, path, kind, ref, text = sys.argv[1:]; sys.path.insert(0, root)\n"
        "from cortex_git.store import backend, open, repo\n"
        "store = open.open_backend(repo.require(path, os.environ), kind)\n"
        "while True:\n"
        "    update = backend.Update(ref, store.refs(ref).get(ref), [text.encode()], 'cortex: 1 event')\n"
        "    try: store.append([update])\n"
        "    except backend.RefMoved: time.sleep(random.uniform(0, 0.05))\n"
        "    else: break\n"
    )
    given = [sys.executable, "-c", program, str(ROOT), str(repo.path), kind, REF]
    writers = [subprocess.Popen([*given, f"segment {n}"]) for n in range(40)]

    assert [0] * 40 == [writer.wait() for writer in writers]
    assert {b"segment %d" % n for n in range(40)} == contents(opened(kind, repo.path), REF)
    assert "40" == repo.git("rev-list", "--count", REF)
