"""Wire formats: each module reads and writes one, from bytes to bytes.

None of them knows anything of servers, requests or responses.
"""

__all__ = []
