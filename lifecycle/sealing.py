"""Seals what is kept for later: whoever can only write into the database cannot make a seal.

Rows that tell of people are compared with the trail (ADR 0013). What was heard and is not processed
yet stands in no entry, and it would be processed as if the person had said it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any, Final

from lifecycle.permit import KeyRing

#: No permit begins like this, so a seal can serve as nothing else.
_PURPOSE: Final = b"signoff kept event\n"


def sealed(ring: KeyRing, *parts: Any) -> str:
    """Return the seal of these JSON values, by the key that signs now."""
    return f"{ring.current}.{_mark(ring.keys[ring.current], parts)}"


def holds(ring: KeyRing, seal: Any, *parts: Any) -> bool:
    """Return whether a seal is of exactly these values, by a key of the ring."""
    key_id, _, mark = seal.partition(".") if isinstance(seal, str) else ("", "", "")
    key = ring.keys.get(key_id)
    return key is not None and hmac.compare_digest(
        mark.encode(errors="surrogatepass"), _mark(key, parts).encode()
    )


def _mark(key: bytes, parts: tuple[Any, ...]) -> str:
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=dict)
    return hmac.new(key, _PURPOSE + text.encode(), hashlib.sha256).hexdigest()
