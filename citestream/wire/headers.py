"""What headers say of a body, and what they have to say once it has been filtered.

It does not know the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from citestream.exceptions import UnfilterableResponseError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Headers", "header", "headers_of_filtered", "is_json", "media_type"]

Headers: TypeAlias = "Iterable[tuple[bytes, bytes]]"
"""Names and values, as ASGI has them; names compare without case."""

# What describes the bytes of a body, and is wrong once they have changed.
_DESCRIBING = frozenset(
    (
        b"accept-ranges",
        b"content-digest",
        b"content-length",
        b"content-md5",
        b"digest",
        b"etag",
        b"repr-digest",
    )
)


def header(headers: Headers, name: bytes) -> bytes:
    """Return the value of a header, `b""` when it is not there."""
    return b", ".join([value for key, value in headers if key.lower() == name])


def is_json(content_type: bytes) -> bool:
    """Whether a content type is JSON or made of it."""
    media_type = content_type.partition(b";")[0].strip().lower()
    return media_type == b"application/json" or media_type.endswith(b"+json")


def media_type(headers: Headers) -> str:
    """Return the content type of a body that can be read.

    Raises:
        UnfilterableResponseError: The body is compressed, or in an encoding of
            characters that is not UTF-8.
    """
    encoding = header(headers, b"content-encoding").decode("latin-1").strip().lower()
    if encoding not in ("", "identity"):
        raise UnfilterableResponseError(
            f"expected an unencoded body, got Content-Encoding {encoding[:40]!r}: "
            "add CitationMiddleware inside the compressing middleware"
        )
    kind, *parameters = header(headers, b"content-type").decode("latin-1").lower().split(";")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        charset = value.strip().strip('"')
        if name.strip() == "charset" and charset not in ("utf-8", "utf8", "us-ascii"):
            raise UnfilterableResponseError(
                f"expected text in UTF-8, got charset {charset[:40]!r}: encode the body as UTF-8"
            )
    return kind.strip()


def headers_of_filtered(headers: Headers, length: int | None) -> list[tuple[bytes, bytes]]:
    """Return the headers of a response whose body may have changed.

    Args:
        headers: Those it had.
        length: How long the body is now; `None` while that is not known.
    """
    filtered: list[tuple[bytes, bytes]] = []
    caching: list[bytes] = []
    sized = False
    for name, value in headers:
        lower = name.lower()
        if lower == b"cache-control":
            caching += [part.strip() for part in value.split(b",")]
        elif lower == b"content-length":
            sized = True
        elif lower not in _DESCRIBING and lower != b"x-accel-buffering":
            filtered.append((name, value))
    if sized and length is not None:
        filtered.append((b"content-length", b"%d" % length))
    return [
        *filtered,
        (b"cache-control", _caching(caching)),
        (b"x-accel-buffering", b"no"),
    ]


def _caching(directives: Iterable[bytes]) -> bytes:
    """Return one `cache-control` that keeps caches and proxies from holding a stream back."""
    kept = [part for part in directives if part.lower() in (b"no-store", b"private")]
    return b", ".join([*kept, b"no-cache", b"no-transform"])
