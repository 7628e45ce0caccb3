"""The wheel holds all that a user needs, and works where nothing else is."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

import cortex_git

ASSETS = ("hooks", "git-hooks", ".cortex-template", ".claude-plugin")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel built from it, from what git would check out."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    for name in map(os.fsdecode, filter(None, names)):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def _wheel(dist: Path) -> Path:
    (found,) = dist.glob("cortex_git-*.whl")
    return found


def test_the_wheel_holds_every_asset_with_its_mode(dist: Path) -> None:
    """Each file of the asset folders is in the wheel, with the same content and the same executable bit."""
    with zipfile.ZipFile(_wheel(dist)) as wheel:
        held = {info.filename: info for info in wheel.infolist()}
        for folder in ASSETS:
            files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".pyc"]
            assert files, folder
            for path in files:
                info = held[f"cortex_git/_assets/{path.relative_to(ROOT)}"]
                assert wheel.read(info) == path.read_bytes()
                assert bool(info.external_attr >> 16 & stat.S_IXUSR) == os.access(path, os.X_OK), path
        assert any(name.endswith(".data/data/share/man/man1/git-cortex.1") for name in held)


def test_the_sdist_holds_the_sources_and_nothing_private(dist: Path) -> None:
    """The sdist has what the wheel is built from, and no tests, caches or local settings."""
    (path,) = dist.glob("cortex_git-*.tar.gz")
    with tarfile.open(path) as archive:
        tops = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert set(ASSETS) | {"cortex_git", "man", "LICENSE", "README.md", "pyproject.toml"} <= tops
    assert not tops & {"tests", "bench", ".venv", ".claude", ".git", "build"}


def _install(dist: Path, folder: Path, *options: str) -> Path:
    """A new environment with the wheel in it; returns its bin folder."""
    venv.create(folder, with_pip=False, symlinks=True)
    command = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"]
    done = subprocess.run([*command, "--disable-pip-version-check", *options, str(_wheel(dist))], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return folder / "bin"


def _check_installed(bin: Path, repo: Path) -> None:
    """`git cortex` works from there in another repository, and so does its manual page."""
    environment = {**os.environ, "PATH": os.pathsep.join([str(bin), "/usr/local/bin", "/usr/bin", "/bin"])}

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=repo, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    assert cortex_git.__version__ in run("git", "cortex", "--version")
    if shutil.which("man"):
        page = Path(run("man", "-w", "git-cortex").strip())
        assert page.resolve() == (bin.parent / "share" / "man" / "man1" / "git-cortex.1").resolve()
    inner = repo / "folder"
    inner.mkdir()
    run("git", "-C", str(inner), "cortex", "init", "--yes", "--no-plugin")
    run("git", "cortex", "decide", "Use SQLite", "--reason", "one writer")
    assert "Use SQLite" in run("git", "cortex", "log")
    program = (repo / ".git" / "cortex" / "program").read_text().splitlines()
    assert Path(program[0]).parent == bin
    assert Path(program[1], "cortex_git", "_assets", "hooks").is_dir()
    run("git", "commit", "--quiet", "--allow-empty", "-m", "A change")
    assert ".cortex/decisions/" in run("git", "show", "--name-only", "--format=", "HEAD")
    (repo / ".claude" / "rules" / "cortex-briefing.md").unlink()
    drain = repo / ".git" / "cortex" / "hooks" / "drain"
    answer = subprocess.run([drain, "SessionStart"], cwd=repo, env=environment, input=b"{}", capture_output=True)
    assert b"Use SQLite" in answer.stdout, answer
    run("git", "cortex", "init", "--yes", "--no-plugin")
    for command in ("verify", "doctor", "status", "export"):
        run("git", "cortex", command)
    assert "Use SQLite" in run("git", "cortex", "search", "sqlite")


@pytest.fixture
def other(tmp_path: Path, home: Path) -> Path:
    """A repository that has nothing to do with this project."""
    repo = tmp_path / "other"
    subprocess.run(["git", "init", "--quiet", str(repo)], check=True)
    return repo


def test_the_installed_wheel_works(dist: Path, tmp_path: Path, other: Path) -> None:
    """Installed away from the checkout, with the libraries of this environment, the program does its job."""
    bin = _install(dist, tmp_path / "venv", "--no-deps", "--no-index")
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    libraries = Path(pytest.__file__).resolve().parent.parent
    (packages / "libraries.pth").write_text(f"{libraries}\n")
    _check_installed(bin, other)


@pytest.mark.slow
def test_the_wheel_installs_from_the_registry_alone(dist: Path, tmp_path: Path, other: Path) -> None:
    """Installed with its declared dependencies into an environment that has nothing else, the program does its job."""
    _check_installed(_install(dist, tmp_path / "venv"), other)
