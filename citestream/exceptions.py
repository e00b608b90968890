"""The errors that citestream raises; it knows nothing of when they are raised.

A bad citation is never an error: it is what the library is for, and it comes
out as an event. Errors are for the programmer.

    CitestreamError
     ├── FinishedError              fed after the end         (also a RuntimeError)
     ├── PassageError               a bad passage list        (also a ValueError)
     ├── StyleError                 a style nobody can hold   (also a ValueError)
     ├── PolicyError                a policy that cannot work (also a ValueError)
     ├── SourceError                not a stream of str       (also a TypeError)
     └── UnfilterableResponseError  a body that must be filtered and cannot be
"""

__all__ = [
    "CitestreamError",
    "FinishedError",
    "PassageError",
    "PolicyError",
    "SourceError",
    "StyleError",
    "UnfilterableResponseError",
]


class CitestreamError(Exception):
    """Every error of this package is one of these."""


class FinishedError(CitestreamError, RuntimeError):
    """Raised when a filter or stream is used again after its end."""


class PassageError(CitestreamError, ValueError):
    """Raised when a passage list cannot be used: a bad label, a bad URL, a wrong type."""


class StyleError(CitestreamError, ValueError):
    """Raised when a marker style cannot be held within a bound or contradicts itself."""


class PolicyError(CitestreamError, ValueError):
    """Raised when a policy contradicts itself, or asks for what a door cannot do."""


class SourceError(CitestreamError, TypeError):
    """Raised when a source is not an iterable of `str`, or a chunk is not a `str`."""


class UnfilterableResponseError(CitestreamError):
    """Raised when a response should be filtered and its body cannot be read."""
