"""Hashes without hashlib, whose import alone loads OpenSSL: a quarter of what a hook may cost."""

from __future__ import annotations

try:
    from _sha256 import sha256  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # the module's name since Python 3.12
    try:
        from _sha2 import sha256  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from hashlib import sha256

try:
    from _sha1 import sha1  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    from hashlib import sha1


def sha256_hex(data: bytes) -> str:
    """SHA-256 as 64 hex digits."""
    return str(sha256(data).hexdigest())


def sha1_hex(data: bytes) -> str:
    """SHA-1 as 40 hex digits: git's name of an object, no protection."""
    return str(sha1(data).hexdigest())


def blob_id(data: bytes, object_format: str = "sha1") -> str:
    """The id that git gives a blob: the hash over `blob`, its length and its content."""
    hashed = sha256_hex if object_format == "sha256" else sha1_hex
    return hashed(b"blob %d\0" % len(data) + data)
