"""What hooks cost, as multiples of starting Python: a table, a JSON file, and exit status 1 if a budget is broken."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import branches  # noqa: E402
import cases  # noqa: E402
import generate  # noqa: E402
from measure import Cost  # noqa: E402

BRANCHES = ("packed-refs", "loose-refs")
Costs = dict[str, list[Cost]]


def main() -> int:
    """Measure, report, and compare with the budgets."""
    options = _options()
    budgets = tomllib.loads((HERE / "budgets.toml").read_text(encoding="utf-8"))
    _isolate(options.work)
    report: dict[str, object] = {"machine": _machine(), "rounds": options.rounds, "stores": {}}
    broken: list[str] = []
    for name in options.stores:
        store = cases.Store(_store(options.work, name, options.seed))
        log = store.path / ".git" / "cortex" / "log"
        log.unlink(missing_ok=True)
        costs = _rounds(store, options.rounds, options.cases)
        rows = {case: _row(case, costs, _budget(budgets.get(case, {}), name)) for case in costs}
        _count(store, rows, budgets["processes"])
        _print_table(name, rows)
        report["stores"][name] = rows  # type: ignore[index]
        broken += [f"{case} in the store {name}" for case, row in rows.items() if row["broken"]]
        if log.exists():  # what failed or was stopped may have been fast, or measures the limit
            broken.append(f"hooks failed in the store {name}: {log.read_text(encoding='utf-8').splitlines()[-1]}")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"\nAll of it: {options.json}")
    for name in broken:
        print(f"BUDGET BROKEN: {name}")
    return 1 if broken else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = lambda text: [part for part in text.split(",") if part in BRANCHES or str(int(part))]  # noqa: E731
    names = lambda text: [name for name in cases.CASES if name in text.split(",")]  # noqa: E731
    default = HERE.parent / "build" / "bench"
    stores = ["0", "1000", "10000", "100000", *BRANCHES]
    parser.add_argument("--stores", type=parts, default=stores, help=f"numbers of events, {', '.join(BRANCHES)}")
    parser.add_argument("--rounds", type=int, default=21, help="how often each case is run")
    parser.add_argument("--cases", type=names, default=list(cases.CASES), help=", ".join(cases.CASES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=default, help="where stores are made and kept for the next run")
    parser.add_argument("--json", type=Path, default=default / "result.json", help="where the result goes")
    return parser.parse_args()


def _isolate(work: Path) -> None:
    """Nothing of the user's settings has a part in it, nor does an assistant's program that may be on PATH."""
    home = work.resolve() / "home"
    home.mkdir(parents=True, exist_ok=True)
    (home / "gitconfig").write_text(
        "[user]\n\tname = A Developer\n\temail = dev@example.org\n[init]\n\tdefaultBranch = main\n"
        "[maintenance]\n\tauto = false\n[gc]\n\tauto = 0\n"
    )
    tools = home / "bin"
    tools.mkdir(exist_ok=True)
    for name in list(os.environ):
        if name.startswith(("GIT_", "CLAUDE", "CORTEX_", "PYTHON", "XDG_")):
            del os.environ[name]
    os.environ.update(
        HOME=str(home),
        GIT_CONFIG_GLOBAL=str(home / "gitconfig"),
        GIT_CONFIG_NOSYSTEM="1",
        LC_ALL="C",
        TZ="UTC",
        PATH=os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
    )


def _store(work: Path, name: str, seed: int) -> Path:
    """A generated repository; one whose storage the same code made before is used again, with today's hooks."""
    package = HERE.parent / "cortex_git"
    module = branches if name in BRANCHES else generate
    formats = ("digest.py", "events/*.py", "store/keys.py", "store/notes.py", "store/backend.py", "projections/*.py")
    sources = [Path(module.__file__), *(path for part in formats for path in sorted(package.glob(part)))]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    path = work.resolve() / f"{name}-{seed}-{digest}" / "repo"
    if path.with_name("complete").exists():
        generate.init(path)
        return path
    for old in work.glob(f"{name}-{seed}-*"):
        shutil.rmtree(old)
    print(f"Making the store {name} ...", flush=True)
    if name in BRANCHES:
        branches.make(path, packed=name != "loose-refs")
    else:
        generate.make(path, int(name), seed)
    path.with_name("complete").touch()
    return path


def _rounds(store: cases.Store, rounds: int, names: list[str]) -> Costs:
    """Costs of each case, taken in turns with the floors, so that a busy moment hits all of them alike."""
    units = {cases.UNIT, "git rev-parse", *(cases.UNITS[name] for name in names if name in cases.UNITS)}
    chosen = {name: case for name, case in cases.FLOORS.items() if name in units}
    chosen.update((name, cases.CASES[name]) for name in names)
    costs: Costs = {name: [] for name in chosen}
    for number in range(rounds + 1):
        for name, case in chosen.items():
            cost = case(store)
            if number:  # the first round warms the caches of the disk
                costs[name].append(cost)
    return costs


def _count(store: cases.Store, rows: dict[str, dict[str, object]], budgets: dict[str, int]) -> None:
    """Add to the rows how many git processes of ours each case starts; that is no timing and need not be repeated."""
    store.counting = True
    for name in (name for name in rows if name in cases.PROCESSES):
        started = cases.CASES[name](store).started
        rows[name]["started"] = started
        rows[name]["broken"] = rows[name]["broken"] or started > budgets.get(name, started)
    store.counting = False


def _row(name: str, costs: Costs, budget: float | None) -> dict[str, object]:
    """Medians in seconds, and as multiples of the case's unit."""
    unit = cases.UNITS.get(name, cases.UNIT)
    wall, cpu = (statistics.median(getattr(cost, kind) for cost in costs[name]) for kind in ("wall", "cpu"))
    unit_wall, unit_cpu = (statistics.median(getattr(cost, kind) for cost in costs[unit]) for kind in ("wall", "cpu"))
    ratios = (wall / unit_wall, cpu / unit_cpu)
    return {
        "unit": unit,
        "wall": round(wall, 5),
        "cpu": round(cpu, 5),
        "wall_ratio": round(ratios[0], 2),
        "cpu_ratio": round(ratios[1], 2),
        "budget": budget,
        "broken": budget is not None and max(ratios) > budget,
    }


def _budget(table: dict[str, float], store: str) -> float | None:
    """A store of so many events has the budget of the next larger number; any other store one of its own, or `any`."""
    if store in table or not store.isdigit():
        return table.get(store, table.get("any"))
    size = next((size for size in sorted(int(size) for size in table if size.isdigit()) if size >= int(store)), None)
    return table.get(str(size) if size is not None else "any")


def _print_table(store: str, rows: dict[str, dict[str, object]]) -> None:
    title = f"{store} events" if store.isdigit() else store
    print(f"\n{title:24} wall ms   cpu ms   wall x    cpu x   budget    git processes")
    for name, row in rows.items():
        budget = "" if row["budget"] is None else f"{row['budget']:.1f}" + (" BROKEN" if row["broken"] else "")
        wall, cpu = float(row["wall"]) * 1000, float(row["cpu"]) * 1000  # type: ignore[arg-type]
        figures = f"{wall:10.1f} {cpu:8.1f} {row['wall_ratio']:8} {row['cpu_ratio']:8}"
        print(f"{name:21} {figures}   {budget:12}  {row.get('started', '')}".rstrip(), flush=True)


def _machine() -> dict[str, object]:
    version = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {"python": platform.python_version(), "git": version, "system": platform.platform(), "cpus": os.cpu_count()}


if __name__ == "__main__":
    sys.exit(main())
