"""`git cortex search`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from cortex_git.cli import text
from cortex_git.cli.command import Listing, color_option, json_option
from cortex_git.cli.exchange import absence
from cortex_git.cli.opening import open_to_read
from cortex_git.cli.selection import SHORTEST, Selection, least_confidence, selecting, tests
from cortex_git.cli.terminal import Screen, harmless, is_terminal, one_line, screen, warn, write_json
from cortex_git.env import Env
from cortex_git.errors import UsageError
from cortex_git.events.model import Event
from cortex_git.memory import Memory
from cortex_git.views.standing import Standing

if TYPE_CHECKING:
    from cortex_git.search.answer import Answer, Hit


_EXCLUSION = re.compile(r"-(?!n\d+$)[^\W\d_].+", re.DOTALL)
_CONDITION = re.compile(r"(?<!\S)-?(type|since|until):([^\s\"]+)")


class _Query(Listing):
    """A listing in whose arguments `-word` is no option but a word of the query."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments, exclusions as what they are."""
        end = args.index("--") if "--" in args else len(args)
        options = [param for param in self.params if isinstance(param, click.Option) and not param.is_flag]
        with_value = {name for option in options for name in option.opts}
        others: list[str] = []
        excluded: list[str] = []
        for before, arg in zip(["", *args], args[:end], strict=False):
            is_word = before not in with_value and _EXCLUSION.fullmatch(arg)
            (excluded if is_word else others).append(arg)
        words = [f'-"{arg[1:]}"' if len(arg.split()) > 1 else arg for arg in excluded]
        return super().parse_args(ctx, [*others, "--", *words, *args[end + 1 :]])


@click.command(cls=_Query)
@click.argument("words", nargs=-1, required=True, metavar="WORDS")
@selecting
@click.option(
    "-n",
    "--max-count",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="At most so many; also as -NUMBER. By default as the setting search.limit says.",
)
@click.option("--oneline", is_flag=True, help="One line for each.")
@click.option("--explain", is_flag=True, help="Also say how the answer came about.")
@json_option
@color_option
@click.pass_obj
def search(
    env: Env,
    words: tuple[str, ...],
    selection: Selection,
    max_count: int | None,
    oneline: bool,
    explain: bool,
    as_json: bool,
    color: str,
) -> None:
    """Find memories by words, the best first.

    Words are found in any form, identifiers whole and by their parts, an id by its start.

    \b
    "two words"             exactly these words, in this order
    -word                   not with this word
    type:decision           only this type; so also branch:, file:, author:, agent:, session:, commit:
    since:2w until:2026-05  only of this time

    The options do the same. Without a type, what was said and decided is searched: no files, no commands.
    """
    query = " ".join(words)
    if not query.strip():
        raise UsageError("there is nothing to search for; give a word")
    memory = open_to_read(env)
    answer, standing = _answer(memory, query, selection, max_count)
    for notice in answer.notices:
        warn(env, notice)
    if as_json:
        write_json(env, _as_dict(answer, standing, explain))
        return
    hints = _hints(memory, answer, query)
    if not is_terminal(env.stdout):  # where another program reads, only what was found is output
        for hint in hints:
            env.stderr.write(f"git cortex: {hint}\n")
        hints = []
    with screen(env, memory.repo.git_config(), color, paged=True) as out:
        for hint in hints:
            out.line(out.paint(hint, "dim"))
        for line in _lines(answer, standing, out, oneline):
            out.line(line)
        for line in answer.explain if explain else ():
            out.line(out.paint(one_line(line), "dim"))


def _answer(memory: Memory, query: str, selection: Selection, max_count: int | None) -> tuple[Answer, Standing]:
    from cortex_git.cli.finding import Sources, changes, open_index
    from cortex_git.search.record import SCOPES

    # The index knows types by itself; everything else is asked of each event that it finds.
    least = least_confidence(memory, selection)
    wanted = tests(memory, selection._replace(types=frozenset(), everything=True, min_confidence=least))
    wanted.append(lambda event: bool(memory.admitted([event])))
    everywhere = selection.all_branches
    sources = Sources.everywhere(memory) if everywhere else Sources.visible(memory, selection.branch)
    index = open_index(memory, sources)
    try:
        standing = changes(index, sources)
        if memory.repo.branch() == memory.repo.default_branch():
            standing.accepted |= sources.there
        standing.retracted |= sources.gone
        shown = selection.withdrawn or selection.everything
        answer = index.search(
            query,
            limit=max_count or memory.config.search_limit or 1,
            segments={id: _all_of(test, wanted) for id, test in sources.segments.items()},
            hidden=() if shown else standing.retracted | set(standing.superseded),
            scopes=SCOPES if selection.everything and not selection.types else (),
            now=memory.env.now(),
            type=sorted(selection.types),
        )
    finally:
        index.close()
    return answer, standing


def _all_of(test: Callable[[Event], bool] | None, wanted: list[Callable[[Event], bool]]) -> Callable[[Event], bool]:
    if test is not None:
        wanted = [test, *wanted]
    return lambda event: all(one(event) for one in wanted)


def _hints(memory: Memory, answer: Answer, query: str) -> list[str]:
    """What to know before one reads what was found."""
    hints = []
    if not answer.hits:
        hints.append("nothing was found")
        hints += _misread(query, memory.env.now())
        hints += filter(None, [absence(memory.repo)])
    elif answer.verdict == "WEAK":
        hints.append("nothing says just that; this is the nearest")
    if answer.left_out:
        total = len(answer.hits) + answer.left_out
        hints.append(f"the best {len(answer.hits)} of {total}; `-n {total}` shows all")
    return hints


def _misread(query: str, now: str) -> Iterator[str]:
    """What looks like a condition in a query and was searched for as words, since it makes no sense as one."""
    from cortex_git.search.fields import Filter

    for name, value in _CONDITION.findall(query):
        try:
            Filter(name, [part for part in value.split(",") if part], now)
        except UsageError as error:
            yield f"{name}:{value} was taken as words: {error}"


def _lines(answer: Answer, standing: Standing, out: Screen, oneline: bool) -> Iterator[str]:
    for hit in answer.hits:
        event, dead = hit.event, text.flag(hit.event, standing)
        kind, private = text.label(event), "(private) " if event.private else ""
        pinned = "(pinned) " if event.id in standing.pinned else ""
        if oneline:
            mark = f"({dead}) " if dead else ""
            yield f"{out.paint(event.id[:SHORTEST], 'id')} {kind:<10} {mark}{pinned}{private}{_marked(hit, out)}"
            continue
        said = event.author if event.agent == "user" and event.author else event.agent
        facts = [dead or text.status(event, standing), one_line(said), text.local_time(event.time)]
        facts.append(one_line(event.branch))
        yield f"{out.paint(event.id[:SHORTEST], 'id')} {kind} ({', '.join(fact for fact in facts if fact)})"
        yield f"    {pinned}{private}{_marked(hit, out)}"


def _marked(hit: Hit, out: Screen) -> str:
    """The snippet with what matched in colour."""
    parts: list[str] = []
    at = 0
    for start, end in hit.marks:
        parts += [harmless(hit.snippet[at:start]), out.paint(harmless(hit.snippet[start:end]), "match")]
        at = end
    return "".join([*parts, harmless(hit.snippet[at:])])


def _as_dict(answer: Answer, standing: Standing, explain: bool) -> dict[str, Any]:
    hits = [
        {**text.as_dict(hit.event, standing), "score": hit.score, "snippet": hit.snippet, "matched": hit.matched}
        for hit in answer.hits
    ]
    found = {"verdict": answer.verdict, "left_out": answer.left_out, "notices": answer.notices, "hits": hits}
    return {**found, "explain": answer.explain} if explain else found
