"""What pre-commit stages: exactly what belongs to the commit, never at the cost of anybody's files."""

from __future__ import annotations

import os
import resource
import shutil
import stat
import sys
from pathlib import Path

import formats
import pytest
from conftest import ROOT, TestRepo
from items_data import decision, fact, rejected

from cortex_git.config import Config
from cortex_git.errors import CortexError
from cortex_git.events import codec, model
from cortex_git.events.model import Event
from cortex_git.projections import items, pages, worktree
from cortex_git.projections.stage import stage, unstage
from cortex_git.store.open import open_backend
from cortex_git.store.repo import require
from cortex_git.views.standing import Plan, parse_plan

NO_PAGES = Config({"projections_pages": "off"})
HOOK = """\
import os, sys
sys.path[:0] = [{root!r}, {tests!r}]
from test_stage import Pending, run_stage, run_unstage
from cortex_git.events.codec import decode_segment
events, _ = decode_segment(open({events!r}, "rb").read())
if sys.argv[1] == "stage":
    run_stage({repo!r}, Pending(events), os.environ.get("GIT_INDEX_FILE"))
else:
    run_unstage({repo!r})
"""


class Pending:
    """What a commit is to bring along."""

    def __init__(self, events: list[Event] | None = None, plan: Plan | None = None) -> None:
        self.events = events or []
        self.plan = plan
        self.had_plan = self.has_part = plan is not None
        self.key = "9ab3c2-0c10e1"


def run_stage(
    path: object, pending: Pending, index_file: str | None = None, config: Config = NO_PAGES, **more: object
) -> list[str]:
    """Stage in the repository at a path."""
    repo = require(str(path), os.environ)
    return stage(repo, open_backend(repo, "git"), config, pending, index_file, **more)  # type: ignore[arg-type]


def run_unstage(path: object, keep: tuple[str, ...] = ()) -> list[str]:
    """Unstage in the repository at a path."""
    return unstage(require(str(path), os.environ), set(keep))


def hook(repo: TestRepo, events: list[Event], name: str = "pre-commit", action: str = "stage") -> None:
    """Install a git hook that stages these events, or unstages."""
    folder = Path(repo.git("rev-parse", "--path-format=absolute", "--git-path", "hooks"))
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "events"
    if events:
        data.write_bytes(codec.encode_segment(events))
    script = folder / f"{action}.py"
    script.write_text(HOOK.format(root=str(ROOT), tests=str(ROOT / "tests"), events=str(data), repo=str(repo.path)))
    (folder / name).write_text(f"#!/bin/sh\nexec '{sys.executable}' '{script}' {action}\n")
    (folder / name).chmod(0o755)


def failing_hook(repo: TestRepo) -> Path:
    """Install a hook that gives up every commit after ours has staged."""
    path = repo.path / ".git" / "hooks" / "commit-msg"
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    return path


def tree(repo: TestRepo, rev: str = "HEAD") -> set[str]:
    """The files of ours in a commit."""
    return set(filter(None, repo.git("ls-tree", "-r", "--name-only", rev, "--", ".cortex").split("\n")))


def start(repo: TestRepo) -> TestRepo:
    """A repository with a commit in it."""
    repo.commit({"a.txt": "a\n", "b.txt": "b\n"})
    return repo


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that lists every git process that is started."""
    log, folder = tmp_path / "calls", tmp_path / "bin"
    folder.mkdir()
    log.write_text("")
    (folder / "git").write_text(f"#!/bin/sh\necho \"$*\" >> '{log}'\nexec '{shutil.which('git')}' \"$@\"\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return log


def count(calls: Path) -> int:
    """How many git processes there were since the last count."""
    number = len(calls.read_text().splitlines())
    calls.write_text("")
    return number


def test_a_commit_brings_its_items(repo: TestRepo) -> None:
    """A commit holds the files of its events, byte for byte, and leaves a clean work tree."""
    start(repo)
    events = [decision(), rejected(), fact(), fact("Port 80 is taken", model.RESOLVED)]
    hook(repo, events)
    repo.commit({"a.txt": "2\n"})
    files = dict([items.render(events[0]), items.render(events[1]), items.render_learned(events[2:])])

    assert set(files) == tree(repo)
    for path, data in files.items():
        assert data == (repo.path / path).read_bytes()
        assert data.decode() == repo.git("cat-file", "blob", f"HEAD:{path}") + "\n"
    assert "" == repo.git("status", "--porcelain")
    assert "" == repo.git("diff-files")
    assert "" == repo.git("fsck", "--strict", "--no-dangling")


@pytest.mark.parametrize("options", [("-a",), ("--amend",), ("-i", "b.txt"), ("--allow-empty",)], ids=" ".join)
def test_every_kind_of_full_commit_brings_them(repo: TestRepo, options: tuple[str, ...]) -> None:
    """Whichever index git commits from, the items are in the commit and in the index afterwards."""
    start(repo)
    hook(repo, [decision()])
    repo.write({"b.txt": "2\n"})
    repo.git("commit", "-q", "-m", "x", *options)

    assert {items.render(decision())[0]} == tree(repo)
    assert "" == repo.git("status", "--porcelain", "--", ".cortex")


@pytest.mark.parametrize("options", [("--", "a.txt"), ("-o", "a.txt")], ids=" ".join)
def test_a_partial_commit_brings_nothing(repo: TestRepo, options: tuple[str, ...]) -> None:
    """`git commit <path>` leaves the items to the next full commit, and nothing looks deleted."""
    start(repo)
    hook(repo, [decision()])
    repo.write({"a.txt": "2\n", "b.txt": "2\n"})
    repo.git("add", "b.txt")
    repo.git("commit", "-q", "-m", "x", *options)

    assert set() == tree(repo)
    assert "M  b.txt" == repo.git("status", "--porcelain")
    repo.git("commit", "-q", "-m", "y")
    assert {items.render(decision())[0]} == tree(repo)
    assert "" == repo.git("status", "--porcelain")


def test_what_does_not_belong_is_not_written(repo: TestRepo) -> None:
    """Private, uncertain and unfit events get no file; preferences only where they are shared."""
    start(repo)
    liked = fact("Tabs", model.PREFERENCE)
    events = [
        decision("secret", marks=[model.PRIVATE]),
        decision("perhaps", confidence=0.4),
        fact("ran a command", model.COMMAND),
        liked,
    ]

    assert [] == run_stage(repo.path, Pending(events))
    assert [] == run_stage(repo.path, Pending([decision()]), config=Config({"projections_commit": False}))
    assert "" == repo.git("status", "--porcelain")
    shared = Config({"projections_pages": "off", "share_preferences": True})
    assert [items.render_learned([liked])[0]] == run_stage(repo.path, Pending([*events[:2], liked]), config=shared)


def test_nothing_to_do_starts_no_process(repo: TestRepo, calls: Path) -> None:
    """Without news neither staging nor unstaging starts git, on the default branch with its pages too."""
    start(repo)
    run_stage(repo.path, Pending([decision()]), config=Config())
    repo.git("commit", "-q", "-m", "x", "--no-verify")
    run_stage(repo.path, Pending(), config=Config())
    count(calls)

    assert [] == run_stage(repo.path, Pending(), config=Config())
    assert [] == run_unstage(repo.path)
    assert formats.FOR_HEAD == count(calls)


def test_few_processes_whatever_there_is_to_do(repo: TestRepo, calls: Path) -> None:
    """A hundred items take two git processes, with pages four more at most."""
    start(repo)
    many = [decision(f"Decision {number}") for number in range(100)]
    count(calls)

    assert 100 == len(run_stage(repo.path, Pending(many[:100])))
    assert 2 + formats.FOR_HEAD == count(calls)
    repo.git("commit", "-q", "-m", "x", "--no-verify")
    run_unstage(repo.path)
    count(calls)
    assert 5 == len(run_stage(repo.path, Pending([rejected()]), config=Config()))
    assert 6 + formats.FOR_HEAD >= count(calls)


def test_a_file_of_somebody_else_is_never_overwritten(repo: TestRepo) -> None:
    """What is in the way stays as it is and is reported; everything else is staged."""
    start(repo)
    path, data = items.render(decision())
    other = items.render(rejected())[0]
    for content in (b"mine\n", data.replace(b"SQLite", b"MySQL!")):
        faults: list[str] = []
        repo.write({path: content})

        assert [other] == run_stage(repo.path, Pending([decision(), rejected()]), faults=faults)
        assert content == (repo.path / path).read_bytes()
        assert [f"{path} is there with other content; it is left out of this commit"] == faults
    (repo.path / path).unlink()
    (repo.path / path).symlink_to("elsewhere")
    assert [other] == run_stage(repo.path, Pending([decision(), rejected()]))


def test_a_full_disk_leaves_no_half_of_a_file(repo: TestRepo) -> None:
    """What cannot be written whole is not there at all, so the next commit writes it."""
    opened = require(str(repo.path), os.environ)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(CortexError, match="cannot be written"):
            worktree.place(opened, ".cortex/decisions/x.md", b"more than ten bytes", None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert [] == os.listdir(repo.path / ".cortex" / "decisions")
    worktree.place(opened, ".cortex/decisions/x.md", b"mine", None)
    with pytest.raises(CortexError, match="exists"):
        worktree.place(opened, ".cortex/decisions/x.md", b"another's", None)
    assert "mine" == (repo.path / ".cortex" / "decisions" / "x.md").read_text()


def test_the_beginning_of_a_file_is_completed(repo: TestRepo) -> None:
    """An item that a crash cut short blocks its decision no longer."""
    repo.commit({"f": "1"})
    path, text = items.render(decision())
    place = repo.path / path
    place.parent.mkdir(parents=True)
    place.write_bytes(text[: len(text) // 2])

    assert path in run_stage(repo.path, Pending([decision()]))
    assert text == place.read_bytes()


def test_a_file_that_is_right_already_is_staged(repo: TestRepo) -> None:
    """A file with the very content needs no writing."""
    start(repo)
    path, data = items.render(decision())
    repo.write({path: data})

    assert [path] == run_stage(repo.path, Pending([decision()]))


def test_nothing_is_written_through_a_link(repo: TestRepo, tmp_path: Path) -> None:
    """A folder that is a symbolic link leads nowhere for us, and nothing is left behind."""
    start(repo)
    (tmp_path / "outside").mkdir()
    (repo.path / ".cortex").symlink_to(tmp_path / "outside")

    with pytest.raises(CortexError, match="symbolic link"):
        run_stage(repo.path, Pending([decision()]))
    assert [] == list((tmp_path / "outside").iterdir())


def test_if_git_refuses_everything_is_put_back(repo: TestRepo) -> None:
    """With the index locked by somebody the work tree is as before, and the next commit brings the items."""
    start(repo)
    lock = repo.path / ".git" / "index.lock"
    lock.touch()

    with pytest.raises(CortexError):
        run_stage(repo.path, Pending([decision()]))
    assert lock.exists() and not (repo.path / ".cortex" / "decisions").exists()
    lock.unlink()
    assert [items.render(decision())[0]] == run_stage(repo.path, Pending([decision()]))


def test_an_aborted_commit_is_taken_back_when_the_branch_changes(repo: TestRepo) -> None:
    """What an aborted commit left staged does not land on another branch, and comes with the next commit on its own."""
    start(repo)
    repo.git("branch", "other")
    hook(repo, [decision(), fact()])
    failing = failing_hook(repo)
    repo.write({"a.txt": "2\n"})
    repo.git("commit", "-q", "-a", "-m", "x", check=False)
    repo.git("commit", "-q", "--allow-empty", "-m", "x", check=False)
    assert 2 == repo.git("status", "--porcelain", "-uall").count("A  .cortex/")
    repo.git("stash", "-q", "--", "a.txt")
    repo.git("switch", "-q", "other")

    assert 2 == len(run_unstage(repo.path))
    assert "" == repo.git("status", "--porcelain", "-uall")
    repo.git("switch", "-q", "main")
    failing.unlink()
    repo.commit({"a.txt": "3\n"})
    assert 2 == len(tree(repo))


@pytest.mark.parametrize("options", [("-a",), ("--allow-empty",)], ids=" ".join)
def test_an_aborted_commit_is_taken_back_on_the_same_branch(repo: TestRepo, options: tuple[str, ...]) -> None:
    """Once the process that was committing is gone, what it left goes, too, staged or not; the user's changes stay."""
    start(repo)
    hook(repo, [decision()])
    failing_hook(repo)
    repo.write({"a.txt": "2\n"})
    repo.git("commit", "-q", "-m", "x", *options, check=False)

    assert 1 == len(run_unstage(repo.path))
    assert " M a.txt" == repo.git("status", "--porcelain", "-uall")
    assert not (repo.path / ".cortex").joinpath("decisions").exists()


def test_a_commit_under_way_is_left_alone(repo: TestRepo) -> None:
    """While git waits for the message nothing is taken back, or the commit would be followed by a staged deletion."""
    start(repo)
    hook(repo, [decision()])
    hook(repo, [], "commit-msg", "unstage")
    repo.commit({"a.txt": "2\n"})

    assert {items.render(decision())[0]} == tree(repo)
    assert "" == repo.git("status", "--porcelain")
    assert [] == run_unstage(repo.path)
    assert "" == repo.git("status", "--porcelain")


def test_what_may_stay_stays_staged(repo: TestRepo) -> None:
    """An item that belongs to the new branch as well is kept, also in a commit after an aborted one."""
    start(repo)
    hook(repo, [decision(), rejected()])
    failing = failing_hook(repo)
    repo.git("commit", "-q", "--allow-empty", "-m", "x", check=False)
    repo.git("switch", "-q", "-c", "new")

    assert [items.render(rejected())[0]] == run_unstage(repo.path, (decision().id,))
    assert f"A  {items.render(decision())[0]}" == repo.git("status", "--porcelain")
    hook(repo, [decision(), fact()])
    failing.unlink()
    repo.commit({})
    assert {items.render(decision())[0], items.render_learned([fact()])[0]} == tree(repo)
    assert "" == repo.git("status", "--porcelain")


def test_more_facts_of_a_session_replace_the_file_of_an_aborted_commit(repo: TestRepo) -> None:
    """A file of facts that was never committed grows with its session."""
    start(repo)
    more = fact("Another one", time="2026-12-01T12:00:00.000Z")
    run_stage(repo.path, Pending([fact()]))

    assert [items.render_learned([fact(), more])[0]] == run_stage(repo.path, Pending([fact(), more]))
    repo.git("commit", "-q", "-m", "x")
    path, data = items.render_learned([fact(), more])
    assert data.decode() == repo.git("cat-file", "blob", f"HEAD:{path}") + "\n"


def test_a_changed_leftover_is_the_users(repo: TestRepo) -> None:
    """A staged item that somebody edited since is not touched."""
    start(repo)
    (path,) = run_stage(repo.path, Pending([decision()]))
    repo.write({path: b"mine\n"})
    repo.commit({"a.txt": "2\n"})
    repo.git("switch", "-q", "-c", "new")

    assert [] == run_unstage(repo.path)
    assert b"mine\n" == (repo.path / path).read_bytes()


def plan(text: str, ticks: list[Event] | None = None) -> Plan:
    """A plan as the fold gives it."""
    event = Event(model.PLAN, text.replace("[x]", "[ ]"), time="2026-12-01T10:00:00.000Z", branch="main", session="s")
    return Plan(event, *parse_plan(text), ticks or [])


def test_the_plan_advances_in_its_file(repo: TestRepo, calls: Path) -> None:
    """A step that is done brings a new file; the former one goes with a later commit; standing still costs nothing."""
    start(repo)
    path = ".cortex/plans/main-9ab3c2-0c10e1-23a708.md"

    assert [path] == run_stage(repo.path, Pending(plan=plan("Store\n- [ ] table\n- [ ] index")))
    repo.git("commit", "-q", "-m", "x")
    run_unstage(repo.path)
    count(calls)
    assert [] == run_stage(repo.path, Pending(plan=plan("Store\n- [ ] table\n- [ ] index")))
    assert formats.FOR_HEAD == count(calls)
    done = Event(model.STEP, "table", time="2026-12-01T11:00:00.000Z", session="s")
    private = Event(model.STEP, "index", time="2026-12-01T11:00:00.000Z", session="s", marks=[model.PRIVATE])
    ticked = plan("Store\n- [x] table\n- [ ] index", [done, private])
    old, (path,) = path, run_stage(repo.path, Pending(plan=ticked))
    assert (repo.path / old).exists()
    assert [ticked.event, done] == items.events_of({path: (repo.path / path).read_bytes()})
    assert "- [x] table\n- [ ] index\n" in repo.read(path)
    repo.git("commit", "-q", "-m", "y")
    assert [] == run_stage(repo.path, Pending(plan=ticked))
    repo.write({"a.txt": "2\n"})
    repo.git("add", "a.txt")
    assert [old] == run_stage(repo.path, Pending(plan=ticked))
    assert not (repo.path / old).exists()
    repo.git("commit", "-q", "-m", "z")
    repo.write({path: "mine\n"})
    assert [] == run_stage(repo.path, Pending(plan=ticked))
    assert "mine\n" == repo.read(path)


def test_a_plan_of_an_aborted_commit_goes_back_to_what_was_committed(repo: TestRepo) -> None:
    """A rewritten file is restored, so that it blocks no checkout."""
    start(repo)
    run_stage(repo.path, Pending(plan=plan("Store\n- [ ] table")))
    repo.git("commit", "-q", "-m", "x")
    (path,) = repo.git("ls-files", ".cortex/plans").splitlines()
    before = repo.read(path)
    done = Event(model.STEP, "table", time="2026-12-01T11:00:00.000Z", session="s")
    run_stage(repo.path, Pending(plan=plan("Store\n- [x] table", [done])))
    repo.git("switch", "-q", "-c", "new")

    assert 1 == len(run_unstage(repo.path))
    assert before == repo.read(path)
    assert "" == repo.git("status", "--porcelain")


def test_a_clone_does_not_stage_a_plan_that_is_committed(repo: TestRepo) -> None:
    """Where nothing is noted yet, a plan's file that is right already is not added again."""
    start(repo)
    run_stage(repo.path, Pending(plan=plan("Store\n- [ ] table")))
    repo.git("commit", "-q", "-m", "x")
    (repo.path / ".git" / "cortex" / "staged.json").unlink()

    assert [] == run_stage(repo.path, Pending(plan=plan("Store\n- [ ] table")))


def test_pages_are_rendered_on_the_default_branch(repo: TestRepo) -> None:
    """There the pages show the commit's items; on another branch they stay as they are."""
    start(repo)
    names = {".cortex/" + name for name in pages.NAMES}
    hook_free = Config()

    assert names < set(run_stage(repo.path, Pending([decision()]), config=hook_free))
    repo.git("commit", "-q", "-m", "x")
    assert "Use SQLite" in repo.read(".cortex/decisions.md")
    assert items_match(repo)
    repo.git("switch", "-q", "-c", "feature")
    assert [items.render(rejected())[0]] == run_stage(repo.path, Pending([rejected()]), config=hook_free)
    repo.git("commit", "-q", "-m", "y")
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--ff-only", "feature")
    assert not items_match(repo)
    assert names == set(run_stage(repo.path, Pending(), config=hook_free))
    repo.git("commit", "-q", "-m", "z")
    assert items_match(repo)
    assert "" == repo.git("status", "--porcelain")


def items_match(repo: TestRepo) -> bool:
    """Whether the committed page was made from the committed items."""
    found = items.items_at(open_backend(require(str(repo.path), os.environ), "git"), "HEAD")
    footer = pages.footer_of(found[".cortex/decisions.md"])
    return footer is not None and footer.items == pages.digest_of(found, Config())


def test_pages_on_every_branch_tell_what_is_only_proposed(repo: TestRepo) -> None:
    """With pages on every branch, what is proposed shows as such until it is on the default branch."""
    start(repo)
    repo.git("switch", "-q", "-c", "feature")
    config = Config({"projections_pages": "every-branch"})

    assert 5 == len(run_stage(repo.path, Pending([decision(agent="claude-code", layer="tag")]), config=config))
    assert "(proposed, " in repo.read(".cortex/decisions.md")


def test_an_edited_page_is_mended_once_it_is_committed(repo: TestRepo) -> None:
    """A page with changes that are in no commit is left alone; one that was committed so is rendered again."""
    start(repo)
    run_stage(repo.path, Pending([decision()]), config=Config())
    repo.git("commit", "-q", "-m", "x")
    right = repo.read(".cortex/decisions.md")
    repo.write({".cortex/decisions.md": right + "mine\n"})
    faults: list[str] = []

    assert [] == run_stage(repo.path, Pending(), config=Config(), faults=faults)
    assert right + "mine\n" == repo.read(".cortex/decisions.md") and 1 == len(faults)
    repo.git("commit", "-q", "-a", "-m", "y")
    assert [".cortex/decisions.md"] == run_stage(repo.path, Pending(), config=Config())
    assert right == repo.read(".cortex/decisions.md")


def test_a_change_of_state_rewrites_the_item(repo: TestRepo) -> None:
    """Superseding is written into both files, retracting and accepting into the one."""
    start(repo)
    old, new, other = (
        decision("Use files"),
        decision("Use SQLite"),
        decision("Use HTTP", agent="claude-code", layer="tag"),
    )
    run_stage(repo.path, Pending([old, other]))
    repo.git("commit", "-q", "-m", "x")
    states = {old.id: ("superseded", new.id), other.id: ("accepted", "")}

    assert 3 == len(run_stage(repo.path, Pending([new]), states=states))
    repo.git("commit", "-q", "-m", "y")
    found = {
        item.event.id: item for item in (items.parse(path, (repo.path / path).read_bytes()) for path in tree(repo))
    }
    assert ("superseded", new.id) == (found[old.id].status, found[old.id].superseded_by)
    assert (old.id,) == found[new.id].supersedes
    assert "accepted" == found[other.id].status
    assert [] == run_stage(repo.path, Pending(), states=states)
    assert [items.render(new)[0]] == run_stage(repo.path, Pending(), states={new.id: ("deprecated", "")})


def test_the_first_commit_of_all(repo: TestRepo) -> None:
    """Before there is any commit items are staged and taken back like anywhere."""
    (path,) = run_stage(repo.path, Pending([decision()]))
    assert f"A  {path}" == repo.git("status", "--porcelain")
    repo.git("symbolic-ref", "HEAD", "refs/heads/other")
    assert [path] == run_unstage(repo.path)
    assert "" == repo.git("status", "--porcelain")
    hook(repo, [decision()])
    repo.commit({"a.txt": "a\n"})
    assert {path} == tree(repo)


def test_a_linked_work_tree_has_its_own_notes(repo: TestRepo, tmp_path: Path) -> None:
    """What was left in one work tree is not looked for in another."""
    start(repo)
    repo.git("worktree", "add", "-q", "-b", "linked", str(tmp_path / "linked"))
    linked = TestRepo(tmp_path / "linked")
    hook(linked, [decision()])
    failing_hook(repo)
    linked.git("commit", "-q", "--allow-empty", "-m", "x", check=False)

    assert [] == run_unstage(repo.path)
    assert 1 == len(run_unstage(linked.path))


def test_repositories_with_sha_256(tmp_path: Path, home: Path) -> None:
    """Staging, pages and taking back work with the other object format, too."""
    repo = start(TestRepo.make(tmp_path / "sha256", "--object-format=sha256"))

    assert 5 == len(run_stage(repo.path, Pending([decision()]), config=Config()))
    repo.git("commit", "-q", "-m", "x")
    assert [] == run_stage(repo.path, Pending(), config=Config())
    run_stage(repo.path, Pending([rejected()]), config=Config())
    repo.git("switch", "-q", "-c", "new")
    assert 5 == len(run_unstage(repo.path))
    assert "" == repo.git("status", "--porcelain")


def test_line_ends_and_filters_do_not_matter(repo: TestRepo) -> None:
    """With autocrlf and a filter on all Markdown, our attributes keep every byte and the work tree clean."""
    repo.commit({
        ".gitattributes": "*.md filter=upper ident\n",
        ".cortex/.gitattributes": (ROOT / ".cortex-template" / "gitattributes").read_text(),
    })  # fmt: skip
    repo.git("config", "core.autocrlf", "true")
    repo.git("config", "filter.upper.clean", "tr a-z A-Z")
    hook(repo, [decision()])
    repo.commit({"a.txt": "a\n"})
    path, data = items.render(decision())

    assert data.decode() == repo.git("cat-file", "blob", f"HEAD:{path}") + "\n"
    assert "" == repo.git("status", "--porcelain")
    (repo.path / path).unlink()
    repo.git("checkout", "--", path)
    assert data == (repo.path / path).read_bytes()


def test_files_are_readable_by_others(repo: TestRepo) -> None:
    """Files of ours have the mode that git gives files, and are not executable."""
    start(repo)
    (path,) = run_stage(repo.path, Pending([decision()]))
    mode = stat.S_IMODE((repo.path / path).stat().st_mode)

    assert mode == stat.S_IMODE((repo.path / "a.txt").stat().st_mode)
    assert repo.git("ls-files", "-s", path).startswith("100644 ")


def test_damaged_notes_are_no_harm(repo: TestRepo) -> None:
    """Whatever stands in the file where staging notes what it did, staging works."""
    start(repo)
    notes = repo.path / ".git" / "cortex" / "staged.json"
    notes.parent.mkdir()
    for text in ("", "[]", '{"staged": {"x": 1, "a.txt": "0"}, "plans": [], "at": 5}', "\0"):
        notes.write_text(text)
        run_unstage(repo.path)

        assert "a\n" == repo.read("a.txt")
    assert 1 == len(run_stage(repo.path, Pending([decision()])))


def test_parallel_branches_merge_without_conflict(repo: TestRepo) -> None:
    """Two branches with decisions, facts and plans of their own merge and rebase cleanly, by git alone."""
    start(repo)
    for branch in ("one", "two"):
        repo.git("switch", "-q", "-c", branch, "main")
        events = [decision(f"{branch} {number}", session=branch) for number in range(3)]
        run_stage(repo.path, Pending([*events, fact(branch, session=branch)], plan=plan(f"{branch}\n- [ ] a")))
        repo.git("commit", "-q", "-m", branch)
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "one")
    repo.git("switch", "-q", "two")
    repo.git("rebase", "-q", "main")

    assert 10 == len(tree(repo))
    assert "" == repo.git("status", "--porcelain")
