"""Shows a long line in part while it is typed: drawing all of it would block the loop."""

from __future__ import annotations

from typing import Final

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import fragment_list_to_text
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.utils import get_cwidth

#: The most characters of a line that are shown, around the cursor; nobody reads more at a prompt.
_SHOWN: Final = 2_000
_LEFT_OUT: Final = "…"
#: The most combining marks shown on one character: each further one is measured with all before
#: it, at quadratic cost.
_PILED: Final = 16
_TOO_MANY: Final = "·"


class ShownPart(Processor):
    """Hides the parts of a long line that are far from the cursor. The line itself stays whole."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """Return what is shown of one line, and how its columns and those shown correspond."""
        given = transformation_input
        text = fragment_list_to_text(given.fragments)
        if len(text) <= _SHOWN and text.isascii():
            return Transformation(given.fragments)
        here = given.document.cursor_position_row == given.lineno
        column = given.document.cursor_position_col if here else 0
        start = max(0, min(column - _SHOWN // 2, len(text) - _SHOWN))
        before = _LEFT_OUT if start else ""
        after = _LEFT_OUT if start + _SHOWN < len(text) else ""
        part = _without_piles(text[start : start + _SHOWN])
        shown: StyleAndTextTuples = [("", before + part + after)]
        return Transformation(
            shown,
            source_to_display=lambda at: min(max(at - start, 0), _SHOWN) + len(before),
            display_to_source=lambda at: min(max(at - len(before), 0), _SHOWN) + start,
        )


def _without_piles(text: str) -> str:
    """Return a text of the same length in which no character carries too many marks."""
    shown, piled = [], 0
    for char in text:
        piled = 0 if get_cwidth(char) else piled + 1
        shown.append(_TOO_MANY if piled > _PILED else char)
    return "".join(shown)
