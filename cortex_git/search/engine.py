"""What the rest needs of whoosh: parts of an index, each written once and never changed.

Only what whoosh 2.7.4 and whoosh3 have in common is used. Whoosh keeps pickles in its files, so
nothing may be opened here that was not made by us: `index.py` sees to that.
"""

from __future__ import annotations

import os

from whoosh import __version__ as _version  # noqa: TID253
from whoosh import columns, fields, formats  # noqa: TID253
from whoosh import index as whoosh_index  # noqa: TID253
from whoosh.lang.snowball.english import EnglishStemmer  # noqa: TID253
from whoosh.reading import TermNotFound  # noqa: TID253

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
    from typing import Any

VERSION = "whoosh " + ".".join(map(str, _version))
"""What made an index; one made by another version is not opened."""
KEY_SIZE = 46
"""The length in bytes of the key that is kept with every document."""

_stem: Any = EnglishStemmer().stem  # type: ignore[no-untyped-call, unused-ignore]
_FACET, _KEY, _LINE = "facet", "key", "line"


def stem(word: str) -> str:
    """The stem of an English word in lower case; Snowball's English rules."""
    return str(_stem(word))


class Weighed(fields.FieldType):  # type: ignore[misc, unused-ignore]
    """A field whose terms come with their weights: it is given a mapping of term to weight."""

    def __init__(self) -> None:
        self.format = formats.Existence()
        self.analyzer = None
        self.scorable = self.stored = self.unique = False
        self.vector = None
        self.set_sortable(False)

    def index(self, value: Any, **options: Any) -> Generator[tuple[bytes, int, float, bytes], Any, None]:
        """What whoosh is to store: term, count, weight, and no value."""
        for term, weight in value.items():
            yield term.encode("utf-8", "replace"), 1, weight, b""

    def to_bytes(self, value: Any) -> bytes:
        """A term as it is stored."""
        return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")

    def from_bytes(self, bs: Any) -> str:
        """A stored term as text."""
        return bytes(bs).decode("utf-8", "replace")


class Record:
    """A document to be: `terms` with their weights for the field `scope`, facets, the key, and the line to show."""

    __slots__ = ("facets", "key", "line", "scope", "terms")

    def __init__(
        self, scope: str, terms: Mapping[str, float], facets: Mapping[str, float], key: bytes, line: str
    ) -> None:
        self.scope = scope
        self.terms = terms
        self.facets = facets
        self.key = key
        self.line = line


class Part:
    """An opened part of an index, for reading. Documents are numbered from 0."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.reader: Any = whoosh_index.open_dir(folder).reader()
        self.docs: int = self.reader.doc_count_all()
        self._keys: Any = self.reader.column_reader(_KEY, translate=False)
        self._lexicons: dict[str, frozenset[str]] = {}

    def close(self) -> None:
        """Give the files free."""
        self.reader.close()

    def frequency(self, scope: str, term: str) -> int:
        """How many documents hold a term."""
        return int(self.reader.doc_frequency(scope, term))

    def postings(self, scope: str, term: str) -> Iterator[tuple[int, float]]:
        """The documents that hold a term, ascending, each with the term's weight in it."""
        try:
            matcher = self.reader.postings(scope, term)
        except (TermNotFound, KeyError):
            return
        active, document, weight, step = matcher.is_active, matcher.id, matcher.weight, matcher.next
        while active():
            yield document(), weight()
            step()

    def starting(self, scope: str, prefix: str) -> Iterator[str]:
        """The terms that start with a prefix, in order."""
        for term in self.reader.expand_prefix(scope, prefix):
            yield term if isinstance(term, str) else term.decode("utf-8", "replace")

    def lexicon(self, scope: str) -> frozenset[str]:
        """All terms of a scope. A walk over them is slow, so they are kept."""
        if scope not in self._lexicons:
            self._lexicons[scope] = frozenset(self.starting(scope, ""))
        return self._lexicons[scope]

    def facets(self, prefix: str) -> Iterator[str]:
        """The facets that start with a prefix."""
        return self.starting(_FACET, prefix)

    def having(self, facet: str) -> Iterator[int]:
        """The documents that have a facet."""
        return (document for document, _ in self.postings(_FACET, facet))

    def has(self, facet: str) -> bool:
        """Whether any document has a facet."""
        return (_FACET, facet) in self.reader

    def key(self, document: int) -> bytes:
        """The key that a document was stored with."""
        return bytes(self._keys[document])

    def line(self, document: int) -> str:
        """The line that a document was stored with."""
        return str(self.reader.stored_fields(document)[_LINE])


def write(
    folder: str, scopes: Sequence[str], records: Iterable[Record], absorbed: Callable[[], Iterable[Part]]
) -> None:
    """Make a part in a new folder: these records, then the documents of the parts that `absorbed` gives.

    Raises what whoosh, the file system or `records` raise; the folder is then to be thrown away.
    """
    os.mkdir(folder, 0o700)
    schema = {scope: Weighed() for scope in (*scopes, _FACET)}
    index = whoosh_index.create_in(
        folder, fields.Schema(key=fields.COLUMN(columns.FixedBytesColumn(KEY_SIZE)), line=fields.STORED(), **schema)
    )
    writer = index.writer(limitmb=256)
    try:
        for record in records:
            values: dict[str, object] = {_KEY: record.key, _LINE: record.line, _FACET: record.facets}
            if record.terms:
                values[record.scope] = record.terms
            writer.add_document(**values)
        for part in absorbed():
            writer.add_reader(part.reader)
    except BaseException:
        writer.cancel()
        raise
    writer.commit(merge=False)
    _settle(folder)


def _settle(folder: str) -> None:
    """Have the files of a part on the disk before anything names it, and nothing else in the folder."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name.endswith("LOCK"):
            os.unlink(path)
            continue
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
