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

import cases  # noqa: E402
import generate  # noqa: E402
from measure import Cost  # noqa: E402

UNIT = "python -c pass"
Costs = dict[str, list[Cost]]


def main() -> int:
    """Measure, report, and compare with the budgets."""
    options = _options()
    budgets = tomllib.loads((HERE / "budgets.toml").read_text(encoding="utf-8"))
    _isolate(options.work)
    report: dict[str, object] = {"machine": _machine(), "rounds": options.rounds, "stores": {}}
    broken: list[str] = []
    for events in options.sizes:
        store = cases.Store(_store(options.work, events, options.seed))
        log = store.path / ".git" / "cortex" / "log"
        log.unlink(missing_ok=True)
        costs = _rounds(store, options.rounds, options.cases)
        rows = {name: _row(name, costs, _budget(budgets.get(name, {}), events)) for name in costs}
        _print_table(events, rows)
        report["stores"][str(events)] = rows  # type: ignore[index]
        broken += [f"{name} at {events} events" for name, row in rows.items() if row["broken"]]
        if log.exists():  # what failed or was stopped may have been fast, or measures the limit
            broken.append(f"hooks failed at {events} events: {log.read_text(encoding='utf-8').splitlines()[-1]}")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"\nAll of it: {options.json}")
    for name in broken:
        print(f"BUDGET BROKEN: {name}")
    return 1 if broken else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    numbers = lambda text: [int(part) for part in text.split(",")]  # noqa: E731
    names = lambda text: [name for name in cases.CASES if name in text.split(",")]  # noqa: E731
    default = HERE.parent / "build" / "bench"
    parser.add_argument("--sizes", type=numbers, default=[0, 1000, 10_000, 100_000], help="events in the stores")
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


def _store(work: Path, events: int, seed: int) -> Path:
    """A generated repository; one whose storage the same code made before is used again, with today's hooks."""
    package = HERE.parent / "cortex_git"
    sources = [HERE / "generate.py", *sorted(package.glob("events/*.py")), *sorted(package.glob("store/*.py"))]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    path = work.resolve() / f"{events}-{seed}-{digest}" / "repo"
    if path.with_name("complete").exists():
        generate.init(path)
        return path
    for old in work.glob(f"{events}-{seed}-*"):
        shutil.rmtree(old)
    print(f"Making a store of {events} events ...", flush=True)
    generate.make(path, events, seed)
    path.with_name("complete").touch()
    return path


def _rounds(store: cases.Store, rounds: int, names: list[str]) -> Costs:
    """Costs of each case, taken in turns with the floors, so that a busy moment hits all of them alike."""
    chosen = {**cases.FLOORS, **{name: cases.CASES[name] for name in names}}
    costs: Costs = {name: [] for name in chosen}
    for number in range(rounds + 1):
        for name, case in chosen.items():
            cost = case(store)
            if number:  # the first round warms the caches of the disk
                costs[name].append(cost)
    return costs


def _row(name: str, costs: Costs, budget: float | None) -> dict[str, object]:
    """Medians in seconds, and as multiples of the unit."""
    wall, cpu = (statistics.median(getattr(cost, kind) for cost in costs[name]) for kind in ("wall", "cpu"))
    unit_wall, unit_cpu = (statistics.median(getattr(cost, kind) for cost in costs[UNIT]) for kind in ("wall", "cpu"))
    ratios = (wall / unit_wall, cpu / unit_cpu)
    return {
        "wall": round(wall, 5),
        "cpu": round(cpu, 5),
        "wall_ratio": round(ratios[0], 2),
        "cpu_ratio": round(ratios[1], 2),
        "budget": budget,
        "broken": budget is not None and max(ratios) > budget,
    }


def _budget(table: dict[str, float], events: int) -> float | None:
    sizes = sorted(int(size) for size in table if size != "any")
    size = next((size for size in sizes if size >= events), None)
    return table.get(str(size) if size is not None else "any")


def _print_table(events: int, rows: dict[str, dict[str, object]]) -> None:
    print(f"\n{events} events{'':14} wall ms   cpu ms   wall x    cpu x   budget")
    for name, row in rows.items():
        budget = "" if row["budget"] is None else f"{row['budget']:.1f}" + (" BROKEN" if row["broken"] else "")
        wall, cpu = float(row["wall"]) * 1000, float(row["cpu"]) * 1000  # type: ignore[arg-type]
        print(f"{name:20} {wall:11.1f} {cpu:8.1f} {row['wall_ratio']:8} {row['cpu_ratio']:8}   {budget}", flush=True)


def _machine() -> dict[str, object]:
    version = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {"python": platform.python_version(), "git": version, "system": platform.platform(), "cpus": os.cpu_count()}


if __name__ == "__main__":
    sys.exit(main())
