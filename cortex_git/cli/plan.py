"""`git cortex plan`: the plan of the branch that is checked out."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

import click

from cortex_git import snapshot
from cortex_git.cli.changing import DROP, Hand
from cortex_git.cli.command import Group, json_option
from cortex_git.cli.opening import open_memory
from cortex_git.cli.recording import Details, new_event, read_text, store
from cortex_git.cli.terminal import Screen, one_line, wants_colour, write_json
from cortex_git.env import Env
from cortex_git.errors import CortexError, UsageError
from cortex_git.events import model
from cortex_git.memory import Memory
from cortex_git.views.standing import Plan, Step, render_plan

_STEP = click.option("--step", "more", multiple=True, metavar="TEXT", help="A further step; may be repeated.")
_PRIVATE = click.option("--private", is_flag=True, help="Never leaves this clone, not in a commit either.")


class _PlanGroup(Group):
    """A title in place of a command's name is a new plan."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named, else `new` with all arguments."""
        name = args[0]
        if name not in self.commands and not name.startswith("-"):
            near = [] if " " in name.strip() else get_close_matches(name, self.commands, 1)
            if near:
                raise UsageError(
                    f"did you mean `git cortex plan {near[0]}`? For a plan of that name: plan new {name!r}"
                )
            return "new", self.commands["new"], args
        return super().resolve_command(ctx, args)


@click.group(cls=_PlanGroup, invoke_without_command=True, subcommand_metavar="[COMMAND] …")
@click.option("--branch", metavar="NAME", help="Show the plan of this branch.")
@json_option
@click.pass_context
def plan(context: click.Context, branch: str | None, as_json: bool) -> None:
    """Show or change the plan of this branch and its current step.

    Without a command the plan is shown. `git cortex plan "Title" "Step one" "Step two"` is short for
    `git cortex plan new`.
    """
    env = context.ensure_object(Env)
    if context.invoked_subcommand is None:
        _show_of(open_memory(env), branch, as_json)
    elif branch is not None:
        raise UsageError("a plan is changed on the branch that is checked out; leave --branch away")
    elif as_json:
        context.meta["json"] = True


@plan.command("show")
@click.option("--branch", metavar="NAME", help="The plan of this branch, in place of the one that is checked out.")
@json_option
@click.pass_obj
def show(env: Env, branch: str | None, as_json: bool) -> None:
    """Show the plan: its steps, and which of them comes now."""
    _show_of(open_memory(env), branch, as_json)


@plan.command("new")
@click.argument("title")
@click.argument("steps", nargs=-1, metavar="[STEP]…")
@_STEP
@_PRIVATE
@json_option
@click.pass_obj
def new(env: Env, title: str, steps: tuple[str, ...], more: tuple[str, ...], private: bool, as_json: bool) -> None:
    """Start a plan, in place of the one that there is.

    A TITLE of `-` reads the plan from standard input: the title, then a step a line.
    """
    heading, *lines = read_text(env, [title]).splitlines()
    wanted = [Step(text, done) for text, done in map(_parsed, [*lines, *steps, *more]) if text]
    memory = open_memory(env)
    _store_plan(memory, _parsed(heading)[0] or heading, wanted, Details(private=private))
    _show_of(memory, None, as_json)


@plan.command("add")
@click.argument("steps", nargs=-1, required=True, metavar="STEP…")
@json_option
@click.pass_obj
def add(env: Env, steps: tuple[str, ...], as_json: bool) -> None:
    """Add steps to the end of the plan."""
    wanted = [Step(read_text(env, [step]), False) for step in steps]
    memory = open_memory(env)
    now = _current(memory)
    _store_plan(memory, now.title, [*now.steps, *wanted], Details(private=now.event.private))
    _show_of(memory, None, as_json)


@plan.command("done")
@click.argument("step", nargs=-1, metavar="[STEP]")
@json_option
@click.pass_obj
def done(env: Env, step: tuple[str, ...], as_json: bool) -> None:
    """Mark a step as done: its number, or a part of its text; without STEP the current one."""
    memory = open_memory(env)
    now = _current(memory)
    found = _chosen(now, " ".join(step).strip())
    if not found.done:
        private = Details(private=now.event.private)
        store(memory, [new_event(memory, model.STEP, found.text, private)])
    _show_of(memory, None, as_json)


@plan.command("drop")
@click.option("-b", "--because", "--reason", "reason", default="", metavar="TEXT", help="The reason.")
@json_option
@click.pass_obj
def drop(env: Env, reason: str, as_json: bool) -> None:
    """Take the plan back: this branch has none any more."""
    hand = Hand(env, DROP)
    now = _current(hand.memory)
    # The plans that this one replaced go with it, or the last of them would be the plan again.
    plans = [e for e in hand.seen if e.type == model.PLAN and not hand.standing.dead(e.id)]
    text = reason.strip() or "the plan was dropped"
    made = {event.id: hand.change(model.RETRACTED, event, text) for event in plans}
    hand.store()
    if as_json or click.get_current_context().meta.get("json"):
        _show_of(hand.memory, None, True)
    else:
        hand.tell(now.event, "plan dropped", made[now.event.id])
        hand.say(False)


def _store_plan(memory: Memory, title: str, steps: Sequence[Step], details: Details) -> None:
    store(memory, [new_event(memory, model.PLAN, render_plan(title, steps), details)])


def _current(memory: Memory) -> Plan:
    found = snapshot.standing(memory).plan
    if found is None:
        raise CortexError('this branch has no plan; start one with `git cortex plan "Title" "Step one" "Step two"`')
    return found


def _parsed(line: str) -> tuple[str, bool]:
    """The text of a step and whether it is done; it may have the mark of a task list or of any list before it."""
    text = line.strip()
    ticked = text[:6].lower() == "- [x] "
    for mark in ("- [ ] ", "- [x] ", "- [X] ", "- ", "* "):
        if text.startswith(mark):
            return text.removeprefix(mark).strip(), ticked
    return text, False


def _chosen(plan: Plan, wanted: str) -> Step:
    """The step that is meant. Raises CortexError if it is none or more than one."""
    if not wanted:
        found = [step for step in plan.steps if step.current]
    elif wanted.isdecimal():
        found = plan.steps[int(wanted) - 1 : int(wanted)] if int(wanted) else []
    else:
        text = wanted.casefold()
        exact = [step for step in plan.steps if step.text.casefold() == text]
        near = [step for step in plan.steps if text in step.text.casefold()]
        found = exact[:1] or near
        found = found if len(found) == 1 else [step for step in found if not step.done] or found
    if len(found) > 1:
        raise CortexError(f"{wanted!r} is in {len(found)} steps; give the number of the step")
    if not found:
        raise CortexError(f"there is no step {wanted!r}" if wanted else "no step is left to do")
    return found[0]


def _show_of(memory: Memory, branch: str | None, as_json: bool) -> None:
    standing = memory.standing(branch) if branch is not None else snapshot.standing(memory)
    _show(memory, standing.plan, as_json)


def _show(memory: Memory, plan: Plan | None, as_json: bool) -> None:
    env = memory.env
    context = click.get_current_context()
    if as_json or context.meta.get("json"):
        write_json(env, as_dict(plan))
        return
    out = Screen(env.stdout, wants_colour(env, memory.repo.git_config(), "auto"))
    if plan is None:
        out.line("no plan")
        return
    finished = sum(step.done for step in plan.steps)
    progress = f" ({finished} of {len(plan.steps)} steps done)" if plan.steps else ""
    out.line(f"[{out.paint(plan.event.id[:7], 'id')}] {out.paint(one_line(plan.title), 'bold')}{progress}")
    width = len(str(len(plan.steps)))
    for number, step in enumerate(plan.steps, 1):
        mark = "x" if step.done else " "
        line = f"{number:>{width}}. [{mark}] {one_line(step.text)}"
        out.line(out.paint(line + "  <- current", "good") if step.current else line)


def as_dict(plan: Plan | None) -> dict[str, object] | None:
    """A plan as JSON has it."""
    if plan is None:
        return None
    steps = [{"text": step.text, "done": step.done, "current": step.current} for step in plan.steps]
    return {"id": plan.event.id, "title": plan.title, "steps": steps}
