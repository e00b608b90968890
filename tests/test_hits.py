"""What is read from a caller's hits, whatever retrieval brings along."""

from __future__ import annotations

import json
import logging
import math
import sqlite3
import sys
import threading
from collections import UserDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import IntEnum, StrEnum
from typing import Any
from uuid import UUID

import pytest

from citestream.passages import Passage, Passages
from tests.documents import Row, complaint

ID = UUID("12345678-1234-5678-1234-567812345678")


UNCOPIED = (
    "expected metadata that can be copied, got {}: leave out what belongs to the running process"
)


UNLINKED = (
    "expected an http or https URL with a host, without a user name and of at most 8000 "
    "characters, got {}: write it out in full, and spaces, quotes and the like percent-encoded"
)


def converted(item: object) -> Passage:
    (passage,) = Passages([item])
    return passage


# What a field may hold


def test_subclass_of_str_leaves_only_its_characters() -> None:
    class Sly(str):
        def __str__(self) -> str:
            return "something else"

        __slots__ = ()

    passage = Passage(Sly("a1"), Sly("words"), title=Sly("T"))
    assert [type(value) for value in (passage.label, passage.text, passage.title)] == [str] * 3
    assert (passage.label, passage.text, passage.title) == ("a1", "words", "T")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"text": b"words"},
            "expected str as its text, got a value of type bytes: convert it",
        ),
        ({"id": 5}, "expected str as its id, got 5: convert it"),
        (
            {"title": ["T"]},
            "expected str as its title, got a value of type list: convert it",
        ),
        ({"place": 3.5}, "expected str as its place, got 3.5: convert it"),
        ({"version": True}, "expected str as its version, got True: convert it"),
        ({"url": 5}, "expected str as its url, got 5: convert it"),
        (
            {"score": math.nan},
            "expected a finite number as its score, got nan: use None for none",
        ),
        (
            {"score": -math.inf},
            "expected a finite number as its score, got -inf: use None for none",
        ),
        (
            {"score": "0.5"},
            "expected a finite number as its score, got '0.5': use None for none",
        ),
        (
            {"score": True},
            "expected a finite number as its score, got True: use None for none",
        ),
        (
            {"score": 1j},
            "expected a finite number as its score, got a value of type complex: use None for none",
        ),
        (
            {"score": 10**5000},
            "expected a finite number as its score, got a value of type int: use None for none",
        ),
        (
            {"metadata": [("a", 1)]},
            "expected a mapping as its metadata, got a value of type list: make a dict of it",
        ),
        (
            {"metadata": {"lock": threading.Lock()}},
            UNCOPIED.format("TypeError"),
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_field_is_named(fields: dict[str, Any], message: str) -> None:
    assert complaint(lambda: Passage(1, **fields)) == message


# URLs


GOOD_URLS = [
    "http://e.org",
    "https://e.org/",
    "HTTPS://E.org:8443/a/b.html?q=1&r=%20#frag",
    "https://xn--bcher-kva.example/",
    "https://bücher.example/straße",
    "https://हिन्दी.example/",
    "http://127.0.0.1:8000/a",
    "http://[::1]:8000/a",
    "https://under_score.example/",
    "https://e.org./",
    "https://e.org:/",
    "https://e.org/" + "a" * (8_000 - len("https://e.org/")),
]


BAD_URLS = [
    "",
    " ",
    "e.org",
    "/a",
    "//evil",
    "///evil",
    "http:",
    "http:/evil",
    "http:evil",
    "http://",
    "http:///evil",
    "https://?q",
    "https://#f",
    "https://:80/",
    "https://.",
    "https://-._/",
    "https://@/",
    "https://user@/",
    "https://user:word@",
    "https://e.org@evil.example/",
    "https://user:word@e.org/",
    "https://e.org:port/",
    "https://e.org:99999/",
    "https://a:b:c/",
    "https://[::1",
    "https://[evil]/",
    "https://%65vil.example/",
    "https://e\uff0forg/",
    "https://e.org\\@evil.example/",
    "https:\\\\evil",
    " https://e.org",
    "https://e.org ",
    "https://e.org/a b",
    "https://e.org/\n",
    "ht\ntps://e.org",
    "https://e.org/\u2028",
    "https://e.org/\u202egnp",
    "https://e.org/\u200b",
    "https://e.org/\ud83d",
    "https://e.org/\x00",
    "\x01https://e.org",
    'https://e.org/"onmouseover="alert(1)',
    "https://e.org/<script>",
    "https://e.org/`",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "java\nscript://e.org/%0aalert(1)",
    "javascript://e.org/%0aalert(1)",
    "vbscript:x",
    "data:text/html,<script>alert(1)</script>",
    "data://e.org/",
    "blob:https://e.org/",
    "view-source:https://e.org",
    "file:///etc/passwd",
    "ftp://e.org/",
    "mailto:a@e.org",
    "https://e.org/" + "a" * 8_000,
]


@pytest.mark.parametrize("url", GOOD_URLS, ids=lambda url: repr(url[:40]))
def test_url_with_a_host_is_kept_unchanged(url: str) -> None:
    assert Passage(1, url=url).url == url
    assert converted({"text": "words", "url": url}).url == url


@pytest.mark.parametrize("url", BAD_URLS, ids=lambda url: repr(url[:40]))
def test_other_url_raises_and_is_named(url: str) -> None:
    seen = repr(url) if len(url) <= 80 else repr(url[:80]) + "..."
    assert complaint(lambda: Passage(1, url=url)) == UNLINKED.format(seen)


@pytest.mark.parametrize("url", BAD_URLS, ids=lambda url: repr(url[:40]))
def test_other_url_of_a_hit_is_left_out_and_logged(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="citestream"):
        assert converted({"text": "words", "url": url}) == Passage(1, "words")
    seen = repr(url) if len(url) <= 80 else repr(url[:80]) + "..."
    expected = ["passage 1: its url is left out: " + UNLINKED.format(seen)]
    # A blank one is as good as none.
    assert [record.getMessage() for record in caplog.records] == (expected if url.strip() else [])


def test_log_holds_one_line_a_record_whatever_a_hit_holds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hostile = "x\r\nERROR root: all is lost\x1b[2J\u2028\u202e" + "y" * 100_000
    with caplog.at_level(logging.WARNING, logger="citestream"):
        passages = Passages(
            {"a\u202eb" + "c" * 1000: Row(url=hostile, title=b"t", id=[hostile], score=hostile)}
        )
    assert [passage.text for passage in passages] == ["words"]
    messages = [record.getMessage() for record in caplog.records]
    assert [message.partition(" is left out")[0].split()[-1] for message in messages] == [
        "id",
        "title",
        "url",
        "score",
    ]
    for message in messages:
        assert message.isprintable()
        assert len(message) < 500


# Labels


@pytest.mark.parametrize(
    "label",
    [
        "", " ", "\t\n", "\u3000", "a\nb", "a\r\nb", "a\u2028b", "a\x85b", "a\x00", "a\x1b",
        "[1]", "a]", "【a", "a］", " a", "a ", "a\u00a0", "\ud83da", "†", "-", "...", "\u200b",
    ],
    ids=repr,
)  # fmt: skip
def test_label_that_no_marker_can_hold_is_named(label: str) -> None:
    expected = (
        f"expected a label on one line with a letter or a digit in it, got {label!r}: "
        "leave out brackets, controls and the space around it"
    )
    assert complaint(lambda: Passage(label)) == expected
    assert complaint(lambda: Passages({label: "words"})) == expected
    assert complaint(lambda: Passages([{"label": label, "text": "words"}])) == expected
    assert complaint(lambda: Passages({"a": "words"}).add("words", label)) == expected


@pytest.mark.parametrize("label", [-1, -(10**5000), 1_000_000_000, 10**5000], ids=lambda n: n > 0)
def test_number_out_of_bounds_is_refused_as_a_label(label: int) -> None:
    seen = str(label) if -10 < label < 10**10 else "a value of type int"
    expected = f"expected a label from 0 to 999999999, got {seen}: number the passages from 1"
    assert complaint(lambda: Passage(label)) == expected
    assert complaint(lambda: Passages({label: "words"})) == expected
    assert complaint(lambda: Passages([{"label": label, "text": "words"}])) == expected


@pytest.mark.parametrize("label", [True, 1.0, None, b"1", ("a",), math.nan], ids=repr)
def test_label_of_another_type_is_refused(label: Any) -> None:
    plain = label is None or isinstance(label, float | bool)
    seen = repr(label) if plain else f"a value of type {type(label).__name__}"
    expected = (
        f"expected an int or a str as a label, got {seen}: use the passage's number or its name"
    )
    assert complaint(lambda: Passage(label)) == expected
    assert complaint(lambda: Passages({label: "words"})) == expected


def test_what_stands_for_a_number_is_one() -> None:
    class Index:
        def __init__(self, value: int) -> None:
            self.value = value

        def __index__(self) -> int:
            return self.value

    class Kind(IntEnum):
        FIRST = 1

    class Name(StrEnum):
        ACT = "Act 1"

    assert Passages(Index(3)).labels == (1, 2, 3)  # type: ignore[arg-type]
    assert Passages([{"label": Index(4), "text": "words"}]).labels == (4,)
    assert [type(Passage(label).label) for label in (Kind.FIRST, Name.ACT)] == [int, str]
    assert Passages({Kind.FIRST: "words"}).labels == (1,)
    assert Passages({Name.ACT: "words"}).labels == ("Act 1",)


# The sources of a list


@pytest.mark.parametrize("count", [-1, 100_001, 10**5000], ids=lambda n: n > 0)
def test_number_out_of_bounds_is_refused_as_a_source(count: int) -> None:
    seen = "a value of type int" if count > 10**6 else count
    assert complaint(lambda: Passages(count)) == (
        f"expected 0 to 100000 passages, got {seen}: give the number of passages in the prompt"
    )


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("words", "'words'"),
        ("1", "'1'"),
        (b"words", "a value of type bytes"),
        (bytearray(b"words"), "a value of type bytearray"),
        (memoryview(b"words"), "a value of type memoryview"),
        ({"a"}, "a value of type set"),
        (frozenset({"a"}), "a value of type frozenset"),
        ((x for x in "ab"), "a value of type generator"),
        (iter(["a"]), "a value of type list_iterator"),
        ({"a": 1}.values(), "a value of type dict_values"),
        (None, "None"),
        (True, "True"),
        (3.0, "3.0"),
        (Row(), "a value of type Row"),
        (Passage(1), "a value of type Passage"),
        (Passages, "a value of type type"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_source_is_refused(source: Any, seen: str) -> None:
    assert complaint(lambda: Passages(source)) == (
        "expected passages as a number, a sequence or a mapping of labels, "
        f"got {seen}: make a list of it"
    )


def test_sequence_is_numbered_from_one() -> None:
    expected = [Passage(1, "a"), Passage(2, "b"), Passage(3, "c", "x", "T")]
    items = ["a", {"text": "b"}, Row("c", "x", "T")]
    for source in (items, tuple(items), deque(items)):
        passages = Passages(source)
        assert passages.labels == (1, 2, 3)
        assert list(passages) == expected


def test_sequence_keeps_labels_that_its_items_bring_along() -> None:
    first = Passage(7, "a")
    passages = Passages([first, {"label": 3, "text": "b"}, Passage(7, "c")])
    assert passages.labels == (7, 3)
    assert passages.get(7)[0] is first
    assert passages.get(7) == (Passage(7, "a"), Passage(7, "c"))
    assert list(passages) == [Passage(7, "a"), Passage(7, "c"), Passage(3, "b")]
    assert len(passages) == 3


def test_sequence_labels_all_of_its_items_or_none() -> None:
    expected = (
        "expected a label on every passage of the sequence or on none, got number 2 without: "
        "label them all"
    )
    assert complaint(lambda: Passages([Passage(2, "a"), "b"])) == expected
    assert complaint(lambda: Passages([{"label": "x", "text": "a"}, Row("b")])) == expected


def test_what_is_no_label_is_not_read_as_one() -> None:
    items = [{"label": label, "text": "a"} for label in (None, True, 1.5, ["x"])]
    assert Passages(items).labels == (1, 2, 3, 4)


def test_mapping_gives_labels_in_its_order() -> None:
    passages = Passages(
        {
            "Article 6(3)": "a",
            "Annex III, point 4": ["b", {"text": "c", "title": "T"}],
            "pc-010": None,
            "policy.pdf": Passage("policy.pdf", "d"),
            "@lee20": (Row("e"),),
        }
    )
    assert passages.labels == (
        "Article 6(3)",
        "Annex III, point 4",
        "pc-010",
        "policy.pdf",
        "@lee20",
    )
    assert list(passages) == [
        Passage("Article 6(3)", "a"),
        Passage("Annex III, point 4", "b"),
        Passage("Annex III, point 4", "c", title="T"),
        Passage("pc-010"),
        Passage("policy.pdf", "d"),
        Passage("@lee20", "e"),
    ]
    assert (len(passages), len(passages.labels)) == (6, 5)


def test_label_without_a_passage_is_refused() -> None:
    expected = (
        "expected a passage under label 3, got an empty list: "
        "use None for a passage whose text is elsewhere"
    )
    assert complaint(lambda: Passages({3: []})) == expected
    assert complaint(lambda: Passages({3: ()})) == expected


def test_named_tuple_is_a_document_and_not_a_list() -> None:
    hit = namedtuple("hit", ["text", "title"])  # noqa: PYI024 - what the caller's code would use
    assert list(Passages({1: hit("a", "T")})) == [Passage(1, "a", title="T")]
    assert list(Passages([hit("a", "T")])) == [Passage(1, "a", title="T")]


def test_mapping_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert "got a value of type list" in complaint(lambda: Passages({1: loop}))
    assert "got a value of type list" in complaint(lambda: Passages(loop))


def test_other_mappings_are_read_as_dicts_are() -> None:
    assert list(Passages(UserDict({1: UserDict({"text": "a"})}))) == [Passage(1, "a")]


def test_documents_are_read_without_leaving_a_trace() -> None:
    hit: defaultdict[str, Any] = defaultdict(list, text="a")
    assert list(Passages([hit])) == [Passage(1, "a")]
    assert hit == {"text": "a"}


@pytest.mark.parametrize(
    "item",
    [None, 5, 1.5, b"words", ["words"], ("words", 0.9), {}, {"words": 1}, object(), Passages],
    ids=lambda item: type(item).__name__,
)
def test_what_is_no_passage_is_refused(item: Any) -> None:
    plain = item is None or isinstance(item, int | float)
    seen = item if plain else f"a value of type {type(item).__name__}"
    expected = (
        f"expected a str, a dict, a Passage or a document with a text for passage 2, got {seen}: "
        "give the texts, or the number of passages alone"
    )
    assert complaint(lambda: Passages(["a", item])) == expected
    assert complaint(lambda: Passages({2: [item]})) == expected
    assert complaint(lambda: Passages(1).add(item)) == expected


def test_file_is_no_passage_although_it_has_a_name(tmp_path: Any) -> None:
    assert "got a value of type" in complaint(lambda: Passages([tmp_path]))


# The shapes of documents


@dataclass
class LangChainDocument:
    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = None
    type: str = "Document"


@dataclass
class LlamaNode:
    id_: str
    text: str
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def node_id(self) -> str:
        return self.id_

    def get_content(self) -> str:
        return self.text


@dataclass
class LlamaMediaNode:
    """A node whose text is only to be had by asking."""

    node_id: str

    @property
    def text(self) -> str:
        raise ValueError("Node must be a TextNode to get text.")

    def get_content(self, metadata_mode: str = "none") -> str:
        return "asked"


@dataclass
class LlamaHit:
    node: Any
    score: float | None = None

    @property
    def text(self) -> Any:
        return self.node.text

    @property
    def metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = self.node.metadata
        return found


@dataclass
class HaystackDocument:
    id: str
    content: str | None = None
    blob: Any = None
    meta: dict[str, Any] = field(default_factory=dict)
    score: float | None = None
    embedding: Any = None


@dataclass
class QdrantPoint:
    id: Any
    version: int
    score: float
    payload: dict[str, Any]


class CallableText(str):
    """A string that can be called, as a library keeps one that used to be a method."""

    __slots__ = ()

    def __call__(self) -> str:
        return str(self)


SHAPES: list[tuple[object, Passage]] = [
    ("words", Passage(1, "words")),
    ("", Passage(1, "")),
    (
        LangChainDocument(
            "words",
            {"source": "/srv/files/a.pdf", "page": 3, "title": "T", "url": "https://e.org"},
            "x",
        ),
        Passage(1, "words", "x", "T", "https://e.org", "page 3"),
    ),
    (
        LangChainDocument("words", {"source": "https://e.org/a", "page": 3, "page_label": "iv"}),
        Passage(1, "words", "https://e.org/a", None, "https://e.org/a", "page iv"),
    ),
    (
        LangChainDocument("words", {"source": "C:\\files\\a.pdf"}),
        Passage(1, "words", "C:\\files\\a.pdf", "a.pdf"),
    ),
    (LangChainDocument("words", {"doc_id": 12, "source": 5}), Passage(1, "words", "12")),
    (LangChainDocument("words", {"id": ID, "file_path": "/"}), Passage(1, "words", str(ID), "/")),
    (
        LlamaHit(LlamaNode("n", "words", {"file_name": "a.txt", "url": "https://e.org"}), 0.5),
        Passage(1, "words", "n", "a.txt", "https://e.org", score=0.5),
    ),
    (LlamaNode("n", "words", {"title": "T"}), Passage(1, "words", "n", "T")),
    (
        {"node": {"id_": "n", "text": "words", "metadata": {"title": "T"}}, "score": 0.25},
        Passage(1, "words", "n", "T", score=0.25),
    ),
    (
        HaystackDocument("h", "words", meta={"title": "T", "file_path": "a/b.txt"}, score=0.5),
        Passage(1, "words", "h", "T", score=0.5),
    ),
    (HaystackDocument("h", meta={"file_path": "a/b.txt"}), Passage(1, None, "h", "b.txt")),
    (
        {
            "file_id": "file-1",
            "filename": "a.pdf",
            "score": 0.5,
            "attributes": {"section": "2.1"},
            "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
        },
        Passage(1, "one\ntwo", "file-1", "a.pdf", None, "2.1", score=0.5),
    ),
    (
        {
            "type": "search_result",
            "source": "https://e.org/a",
            "title": "T",
            "content": [{"type": "text", "text": "one"}, {"type": "image"}, "two"],
        },
        Passage(1, "one\ntwo", "https://e.org/a", "T", "https://e.org/a"),
    ),
    (
        {"type": "source", "sourceId": "s1", "url": "https://e.org", "title": "T"},
        Passage(1, None, "s1", "T", "https://e.org"),
    ),
    (
        QdrantPoint(ID, 3, 0.5, {"text": "words", "title": "T"}),
        Passage(1, "words", str(ID), "T", version="3", score=0.5),
    ),
    ({"id": "p", "score": 0.5, "metadata": {"text": "words"}}, Passage(1, "words", "p", score=0.5)),
    ({"chunk_id": "c", "passage": "words", "link": "https://e.org", "name": "T"},
     Passage(1, "words", "c", "T", "https://e.org")),
    ({"body": "words", "href": "https://e.org", "revision": date(2026, 1, 2)},
     Passage(1, "words", url="https://e.org", version="2026-01-02")),
    ({"text": None, "content": "words", "title": " ", "name": "T"}, Passage(1, "words", title="T")),
    ({"text": "", "metadata": {"text": "elsewhere"}}, Passage(1, "")),
    ({"text": None}, Passage(1)),
    ({"text": CallableText("words")}, Passage(1, "words")),
    (Row("words", 7, "T", "https://e.org", 3, 1.5, 2), Passage(
        1, "words", "7", "T", "https://e.org", "3", "1.5", 2.0)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("item", "expected"),
    SHAPES,
    ids=[f"{n}-{type(item).__name__}" for n, (item, _) in enumerate(SHAPES)],
)
def test_document_is_read_by_its_shape(
    item: object, expected: Passage, caplog: pytest.LogCaptureFixture
) -> None:
    passage = converted(item)
    exposed = ("text", "place", "version", "score")
    assert passage.payload(exposed) == expected.payload(exposed)
    assert caplog.records == []


def test_document_whose_text_must_be_asked_for_is_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert converted(LlamaMediaNode("n")) == Passage(1, "asked", "n")
    assert {record.getMessage() for record in caplog.records} == {
        "a passage's text cannot be read: ValueError"
    }


def test_methods_are_not_values(caplog: pytest.LogCaptureFixture) -> None:
    class Page:
        content = "words"

        def text(self) -> str:
            return "the method"

        def title(self) -> str:
            return "the method"

        label = title

    class Node:
        def get_content(self) -> str:
            return "asked"

    assert list(Passages([Page(), Node()])) == [Passage(1, "words"), Passage(2, "asked")]
    assert caplog.records == []


def test_row_of_a_database_is_read() -> None:
    connection = sqlite3.connect(":memory:")
    try:
        connection.row_factory = sqlite3.Row
        row = connection.execute("select 7 as id, 'words' as text, 'T' as title, 0.5 as score")
        assert converted(row.fetchone()) == Passage(1, "words", "7", "T", score=0.5)
    finally:
        connection.close()


def test_metadata_of_a_document_is_kept_as_a_copy() -> None:
    assert converted({"text": "a", "metadata": {"k": 1}}).metadata == {"k": 1}
    assert converted({"text": "a", "metadata": "none", "meta": {"k": 2}}).metadata == {"k": 2}
    assert converted({"text": "a", "metadata": [1]}).metadata is None


def test_metadata_of_a_document_is_copied_once() -> None:
    copies: list[int] = []

    class Counted:
        def __deepcopy__(self, memo: object) -> Any:
            copies.append(1)
            return threading.Lock()  # which cannot be copied again

    passage = converted({"text": "words", "metadata": {"value": Counted()}})
    assert passage.metadata is not None
    assert len(copies) == 1


# Hostile and broken hits


class Broken:
    """Whatever is asked of it fails."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"the prompt was: {name}")


class PartlyBroken:
    text = "words"

    @property
    def title(self) -> str:
        raise RuntimeError("secret")

    @property
    def metadata(self) -> dict[str, Any]:
        raise OSError("secret")


class BrokenMapping(UserDict[str, Any]):
    def get(self, key: str, default: Any = None) -> Any:
        raise RuntimeError(key)


class BrokenContent:
    id = "x"

    def get_content(self) -> str:
        raise RuntimeError("secret")


class BrokenNumber:
    def __float__(self) -> float:
        raise RuntimeError("secret")


class Uncopied:
    def __deepcopy__(self, memo: object) -> Any:
        raise RuntimeError("secret")


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (Broken(), Passage(1)),
        (PartlyBroken(), Passage(1, "words")),
        (BrokenMapping({"text": "words"}), Passage(1)),
        (BrokenContent(), Passage(1, None, "x")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_document_that_cannot_be_read_keeps_its_place(
    item: object, expected: Passage, caplog: pytest.LogCaptureFixture
) -> None:
    passages = Passages(["first", item])
    assert [passage.payload(("text",)) for passage in passages] == [
        Passage(1, "first").payload(("text",)),
        {**expected.payload(("text",)), "label": 2},
    ]
    messages = [record.getMessage() for record in caplog.records]
    assert messages
    assert not [message for message in messages if "secret" in message or "prompt" in message]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", 10**5000),
        ("id", True),
        ("id", math.nan),
        ("id", ["x"]),
        ("title", {"en": "T"}),
        ("title", b"T"),
        ("place", object()),
        ("version", (1, 2)),
        ("url", 5),
        ("url", ["https://e.org"]),
        ("score", math.nan),
        ("score", math.inf),
        ("score", 10**5000),
        ("score", "high"),
        ("score", False),
        ("score", BrokenNumber()),
        ("score", [0.5]),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_field_that_cannot_be_used_is_left_out_and_logged(
    name: str, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for item in ({"text": "words", name: value}, Row(**{name: value})):
        caplog.clear()
        assert converted(item) == Passage(1, "words")
        (record,) = caplog.records
        assert record.name == "citestream"
        assert record.levelno == logging.WARNING
        assert record.getMessage().startswith(f"passage 1: its {name} is left out: expected ")


def test_log_names_the_field_and_where_it_stood(caplog: pytest.LogCaptureFixture) -> None:
    assert converted({"text": "words", "link": 5, "relevance_score": "x"}) == Passage(1, "words")
    assert [record.getMessage() for record in caplog.records] == [
        "passage 1: its url is left out: expected str as its link, got 5: convert it",
        (
            "passage 1: its score is left out: expected a finite number as its relevance_score, "
            "got 'x': use None for none"
        ),
    ]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (threading.Lock(), "TypeError"),
        ((x for x in "ab"), "TypeError"),
        (Uncopied(), "RuntimeError"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_metadata_that_cannot_be_copied_is_left_out_and_logged(
    value: Any, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    item = {"text": "words", "metadata": {"title": "T", "value": value}}
    assert converted(item) == Passage(1, "words", title="T")
    assert [record.getMessage() for record in caplog.records] == [
        "passage 1: its metadata is left out: " + UNCOPIED.format(error)
    ]


def test_metadata_nested_too_deep_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    deep: list[Any] = []
    for _ in range(sys.getrecursionlimit() * 2):
        deep = [deep]
    assert converted({"text": "words", "metadata": {"deep": deep}}) == Passage(1, "words")
    assert "got RecursionError" in caplog.text
    # Taken apart from outside in: what frees nested lists recurses too.
    while deep:
        deep = deep.pop()


@pytest.mark.parametrize("name", ["text", "content", "page_content"])
def test_text_of_another_type_is_never_dropped_in_silence(name: str) -> None:
    assert complaint(lambda: Passages([{name: b"words"}])) == (
        f"expected str as the {name} of passage 1, got a value of type bytes: "
        "decode or convert it first"
    )


def test_payload_is_json_whatever_the_metadata_holds() -> None:
    loop: dict[str, Any] = {"a": 1}
    loop["loop"] = loop
    loop["list"] = [loop]
    deep: Any = "bottom"
    for _ in range(40):
        deep = [deep]
    shared = ["x"]
    metadata: Any = {
        "loop": loop,
        "deep": deep,
        "twice": [shared, shared],
        "none": None,
        "yes": True,
        "nan": math.nan,
        "inf": [math.inf],
        "giant": 10**5000,
        "large": 2**1023 - 1,
        "too large": 2**1023,
        "float": 0.5,
        "when": datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
        "day": date(2026, 1, 2),
        "id": ID,
        "set": {5},
        "bytes": b"x",
        "object": object,
        "name": CallableText("n"),
        5: "a key that is no str",
        ("a",): "another",
    }
    title = "<img src=x onerror=alert(1)>\r\nevent: summary\r\ndata: {}"
    passage = Passage(1, "\ud83d\x00\u2028", title=title, metadata=metadata)
    payload = passage.payload(("text", "metadata"))
    line = json.dumps(payload, allow_nan=False)
    assert line.isascii()
    assert "\n" not in line
    assert "\r" not in line
    assert json.loads(line) == payload
    metadata = payload["metadata"]
    nested = 0
    while metadata["deep"] is not None:
        (metadata["deep"],) = metadata["deep"]
        nested += 1
    assert nested == 31  # and the metadata around them makes 32
    assert metadata == {
        "loop": {"a": 1, "loop": None, "list": [None]},
        "deep": None,
        "twice": [["x"], ["x"]],
        "none": None,
        "yes": True,
        "nan": None,
        "inf": [None],
        "giant": None,
        "large": 2**1023 - 1,
        "too large": None,
        "float": 0.5,
        "when": "2026-01-02T03:04:00+00:00",
        "day": "2026-01-02",
        "id": str(ID),
        "set": [5],
        "bytes": None,
        "object": None,
        "name": "n",
    }
    assert type(metadata["name"]) is str
