"""A seal on what is kept to be worked later: whoever writes into the database alone makes none.

Rows that tell of people are compared with the trail (ADR 0013). What was heard and is not worked
yet stands in no entry; it would be worked as if the person had said it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any, Final

from lifecycle.permit import KeyRing

#: No permit begins so: a seal is good for nothing else.
_PURPOSE: Final = b"signoff kept event\n"


def sealed(ring: KeyRing, *parts: Any) -> str:
    """Return the seal of these JSON values, by the key that signs now."""
    return f"{ring.current}.{_mark(ring.keys[ring.current], parts)}"


def holds(ring: KeyRing, seal: Any, *parts: Any) -> bool:
    """Say whether a seal is of exactly these values, by a key that is known."""
    key_id, _, mark = seal.partition(".") if isinstance(seal, str) else ("", "", "")
    key = ring.keys.get(key_id)
    return key is not None and hmac.compare_digest(
        mark.encode(errors="surrogatepass"), _mark(key, parts).encode()
    )


def _mark(key: bytes, parts: tuple[Any, ...]) -> str:
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=dict)
    return hmac.new(key, _PURPOSE + text.encode(), hashlib.sha256).hexdigest()
