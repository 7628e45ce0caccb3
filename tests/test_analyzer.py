"""Text becomes terms: prose by stem, identifiers whole and by part, CJK by pairs."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_git.search.analyzer import IDENTIFIER, PLAIN, STOP, fold, terms, words

ROWS = {
    "max_retry_count": ["max_retry_count", "max", "retri", "count"],
    "getHTTPResponseCode": ["gethttpresponsecode", "get", "http", "respons", "code"],
    "git-cortex": ["git-cortex", "git", "cortex"],
    "numpy.linalg.norm": ["numpy.linalg.norm", "numpi", "linalg", "norm"],
    "src/git_cortex/store.py:42": [
        "src/git_cortex/store.py:42", "src/git_cortex/store.py", "store.py", "src", "git_cortex", "git", "cortex",
        "store", "py",
    ],
    "--no-verify": ["--no-verify", "no-verify", "no", "verifi"],
    "E0425": ["e0425"],
    "3.11.7": ["3.11.7", "3.11"],
    "commit 9f2280cb8063c20d": ["commit", "9f2280cb8063c20d", "9f2280c"],
    "C++": ["c++"],
    "C#": ["c#"],
    "使用缓存提高性能": ["使用", "用缓", "缓存", "存提", "提高", "高性", "性能", "能"],
    "running migrations": ["run", "migrat"],
    "foo::bar()": ["foo::bar", "foo", "bar"],
    "ServiceFactory.create_user": [
        "servicefactory.create_user", "servicefactory", "servic", "factori", "create_user", "creat", "user",
    ],
    "deploy-v2.4.7-hotfix": ["deploy-v2.4.7-hotfix", "deploy", "v2.4.7", "2.4.7", "2.4", "hotfix"],
    "ERR_QX7731": ["err_qx7731", "err", "qx7731"],
    "HTTP2Server": ["http2server", "http2", "server"],
    "__init__": ["__init__", "init"],
    "Café": ["cafe"],
    "Cafe\u0301": ["cafe"],
    "Größe": ["gross"],
    "Ｆｕｌｌ": ["full"],
    "don't": ["dont"],
    "the user's": ["the", "user"],
    "हिन्दी": ["हिन्दी"],
    "🚀 ship": ["🚀", "ship"],
    "身份": ["身份", "份"],
    "存": ["存"],
    "用Redis缓存": ["用", "redi", "缓存", "存"],
    "___ -- …": [],
}  # fmt: skip


@pytest.mark.parametrize("text", ROWS)
def test_a_text_gives_its_terms(text: str) -> None:
    """Each kind of text gives exactly the terms that it is to be found by."""
    assert list(terms(text)) == ROWS[text]


@pytest.mark.parametrize(
    ("form", "other"),
    [
        ("running", "runs"),
        ("migrations", "migrate"),
        ("stopped", "stopping"),
        ("CACHING", "cached"),
        ("naïve", "naive"),
        ("ﬁle", "files"),
    ],
)
def test_forms_of_a_word_are_one_term(form: str, other: str) -> None:
    """Forms of a word, in any case and spelling, give the same term."""
    assert list(terms(form)) == list(terms(other))


def test_words_say_where_they_stand() -> None:
    """A word's place in the text is that of its letters, also where folding changes the length."""
    text = "Ein Straßenfest: siehe src/app.py"
    assert [text[word.start : word.end] for word in words(text)] == ["Ein", "Straßenfest", "siehe", "src/app.py"]


def test_kinds_are_told_apart() -> None:
    """Prose is prose; a word with parts, digits or a suffix of signs is an identifier."""
    assert {word.kind for word in words("we keep it simple")} == {PLAIN}
    assert {word.kind for word in words("E0425 a_b a.b aB C++ --x")} == {IDENTIFIER}


def test_contractions_are_stop_words() -> None:
    """Words that say nothing are known in each of their spellings."""
    assert all(word.among(STOP) for word in words("Why don’t we"))


@given(st.text(max_size=60))
def test_any_text_has_terms_without_error(text: str) -> None:
    """No text is an error, no term is empty, and each word stands where it says."""
    assert all(terms(text))
    assert all(text[word.start : word.end] == word.raw for word in words(text))


@given(st.text(alphabet=string.printable, max_size=40))
def test_case_does_not_matter_to_plain_words(text: str) -> None:
    """Folding is stable: a folded text folds to itself."""
    assert fold(fold(text)) == fold(text)
