"""No prohibited phrase stands in any text of a proposal.

What it checks:
    Every text in every field, names of parameters too: as written, without markup, and with one
    level of escapes decoded (of URLs, HTML, JSON and the heads of mails), each as programs show it
    that hide more or less of it. Invisible characters and combining marks are removed; case, width,
    ligatures, look-alike letters and the digits and signs 0 1 3 4 5 7 @ $ | count as the letters
    they imitate; any white space is one space, and so is a single `-`, `_` or `+` or a space
    without width between two words; letters and words that signs or tags turn from right to left
    are read so, and letters in parentheses (`⒡`) as letters, too. What stands in pieces in a list
    is put together, the words of a link among them too. A single word is found whole (in a script
    without blanks anywhere), a phrase of several words also inside longer words. An escape that is
    left over after decoding once is a soft finding. Patterns (RE2) search the same texts, as
    written and folded.

Why:
    What an agent sends is read by people, and people read what they see, not code points. Whoever
    wants a phrase past a word list hides it from the list and not from the reader.

Settings:
    phrases: [text, …]   words and phrases, default none.
    patterns: [RE2, …]   patterns, default none. The folded text is in small letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator

from lifecycle.document import ProposalDocument
from lifecycle.paths import Parts
from lifecycle.policy import Level
from lifecycle.sentinel import Facts, RuleCase, RuleOptions, said
from lifecycle.text.folding import readings, runs_on, seen, strokes, uncased
from lifecycle.text.markup import is_plain, leftover_escape, variants
from lifecycle.text.patterns import BadPattern, compiled
from lifecycle.text.pieces import pieces_in
from lifecycle.text.values import Place, content_of, texts_of
from lifecycle.verdict import Finding

#: Digits and signs that may stand for a letter, and letters, as classes of a pattern.
_LOOKS: Final = {
    "0": "[o0]", "1": "[il1]", "3": "[e3]", "4": "[a4@]", "5": "[s5$]", "7": "[t7]",
    "o": "[o0]", "i": "[i1]", "l": "[l1]", "e": "[e3]", "a": "[a4@]", "s": "[s5$]", "t": "[t7]",
    "@": "[a4@]", "$": "[s5$]", " ": r"[ \-_+]",
}  # fmt: skip
#: Pairs of letters that look like one letter. Only for phrases: in one word `corn` would be `com`.
_PAIRS: Final = (("rn", "(?:rn|m)"), ("m", "(?:m|rn)"), ("vv", "(?:vv|w)"), ("w", "(?:w|vv)"))
_SPECIAL: Final = frozenset(r"\.+*?()|[]{}^-")
#: A letter that modifies another one may be an apostrophe (U+02BC).
_BEFORE: Final = r"(?:^|[^\pL\pN]|\p{Lm})"
_AFTER: Final = r"(?:$|[^\pL\pN]|\p{Lm})"
_LONGEST_SHOWN: Final = 60
#: Texts with nothing in common: a pattern that finds something in all of them finds it anywhere.
_ANYTHING: Final = ("", "x", "!", "7 \n")
#: This many texts are searched as one, with a separator that no phrase can span.
_TOGETHER: Final = 64
_APART: Final = "\n;\n"


def _shows_something(phrase: str) -> str:
    if not seen(phrase):
        raise ValueError("write a phrase with at least one visible character")
    return phrase


def _is_re2(pattern: str) -> str:
    try:
        search = compiled(pattern).search
    except BadPattern as error:
        raise ValueError(f"the pattern {pattern!r} is not one that RE2 reads: {error}") from None
    if all(map(search, _ANYTHING)):
        raise ValueError(
            f"the pattern {pattern!r} finds something in every text, so nothing would pass: write "
            "what must not be there, or take it out"
        )
    return pattern


class _Phrase:
    """One phrase of the settings, ready to be found in what a reader sees."""

    def __init__(self, phrase: str) -> None:
        self.phrase = phrase
        shown = seen(phrase)
        self._has_letter = any(map(str.isalpha, shown))
        paired = _with_pairs(shown) if " " in shown else _escaped(shown)
        self.source = _bounded(shown, paired)
        self._pattern = compiled(self.source)
        other = uncased(phrase)
        self.other_source = "" if other.isascii() else _bounded(other, _escaped(other))
        self._other = compiled(self.other_source) if self.other_source else None

    def is_in(self, shown: str) -> bool:
        """Return True if the phrase is in a text; digits alone are a number and never a word."""
        return any(
            not self._has_letter or any(map(str.isalpha, found[0]))
            for found in self._pattern.finditer(shown)
        )

    def is_in_script(self, other: str) -> bool:
        """Return True if the phrase is in a text in its own script."""
        return self._other is not None and self._other.search(other) is not None


def _with_pairs(shown: str) -> str:
    place, parts = 0, []
    while place < len(shown):
        pair = next((p for p in _PAIRS if shown.startswith(p[0], place)), None)
        parts.append(pair[1] if pair else _escaped(shown[place]))
        place += len(pair[0]) if pair else 1
    return "".join(parts)


def _escaped(shown: str) -> str:
    return "".join(_LOOKS.get(c) or (f"\\{c}" if c in _SPECIAL else c) for c in shown)


def _bounded(shown: str, source: str) -> str:
    """Return a pattern for a whole word if there is one word, in scripts with blanks between."""
    if " " in shown:
        return source
    before = "" if runs_on(shown[0]) else _BEFORE
    return before + source + ("" if runs_on(shown[-1]) else _AFTER)


def _any_of(sources: list[str]) -> Any:
    return compiled("|".join(f"(?:{source})" for source in sources)) if sources else None


class ProhibitedContent:
    """No prohibited phrase in any text, in any field."""

    id: ClassVar[str] = "prohibited_content"
    version: ClassVar[int] = 12
    timeless = True
    summary: ClassVar[str] = "No prohibited phrase stands in any text, however it is disguised."

    class Options(RuleOptions):
        """Words and phrases, and patterns that RE2 reads."""

        phrases: tuple[Annotated[str, AfterValidator(_shows_something)], ...] = ()
        patterns: tuple[Annotated[str, AfterValidator(_is_re2)], ...] = ()

    def __init__(self, options: Options) -> None:
        self._phrases = [_Phrase(phrase) for phrase in options.phrases]
        self._any = _any_of([phrase.source for phrase in self._phrases])
        self._any_other = _any_of([p.other_source for p in self._phrases if p.other_source])
        self._patterns = [(pattern, compiled(pattern)) for pattern in options.patterns]

    def applies_to(self, proposal: ProposalDocument, facts: Facts) -> bool:
        """Return True: every proposal has texts."""
        return True

    def check(self, proposal: ProposalDocument, facts: Facts) -> Any:
        """Return every phrase, pattern and leftover escape that is found, by path."""
        return said(self._findings(proposal))

    def _findings(self, proposal: ProposalDocument) -> Iterator[Finding]:
        told: set[tuple[Parts, str]] = set()
        yield from self._found_at(texts_of(proposal), told)
        told = {(parts[:end], words) for parts, words in told for end in range(len(parts) + 1)}
        yield from self._found_at(pieces_in(content_of(proposal)), told)

    def _found_at(self, places: Iterable[Place], told: set[tuple[Parts, str]]) -> Iterator[Finding]:
        for place in self._suspects(places):
            for code, words in self._found_in(place.value):
                if (place.parts, words) not in told:
                    told.add((place.parts, words))
                    level = Level.SOFT if code == "leftover_escape" else None
                    yield Finding(code, place.path, words, level)

    def _suspects(self, places: Iterable[Place]) -> Iterator[Place]:
        """Yield the texts to search one by one.

        Plain texts are searched together first, and yielded only if something was found in them.
        """
        plain: list[Place] = []
        for place in places:
            if self._patterns or not is_plain(place.value):
                yield place
            else:
                plain.append(place)
        for start in range(0, len(plain), _TOGETHER):
            some = plain[start : start + _TOGETHER]
            text = _APART.join(place.value for place in some)
            if next(self._phrases_in(text, seen(text)), None):
                yield from some

    def _found_in(self, text: str) -> Iterator[tuple[str, str]]:
        for variant in variants(text):
            shown = seen(variant)
            yield from self._phrases_in(variant, shown)
            yield from self._patterns_in(variant, shown)
        if left := leftover_escape(text):
            words = f"After decoding once, {left} is still an escape: write the text plainly."
            yield "leftover_escape", words

    def _phrases_in(self, text: str, shown: str) -> Iterator[tuple[str, str]]:
        for stroke in strokes(shown):
            if self._any and self._any.search(stroke):
                yield from (_prohibited(p.phrase) for p in self._phrases if p.is_in(stroke))
        if self._any_other and self._any_other.search(other := uncased(text)):
            yield from (_prohibited(p.phrase) for p in self._phrases if p.is_in_script(other))

    def _patterns_in(self, text: str, shown: str) -> Iterator[tuple[str, str]]:
        if not self._patterns:
            return
        for haystack in dict.fromkeys((text, *readings(shown))):
            for pattern, search in self._patterns:
                if found := search.search(haystack):
                    yield _prohibited(found[0], f", which matches the pattern {pattern}")

    passes: ClassVar[tuple[RuleCase, ...]] = (
        RuleCase("a plain mail", settings={"phrases": ["final warning"]}),
        RuleCase(
            "words inside other words are other words",
            {"parameters": {"body": "The classic class in Scunthorpe: hello, please assess it."}},
            {"phrases": ["ass", "hell"]},
        ),
        RuleCase(
            "a number is no word",
            {"parameters": {"body": "Invoice 455 of 2847"}},
            {"phrases": ["ass"]},
        ),
    )
    fails: ClassVar[tuple[RuleCase, ...]] = tuple(
        RuleCase(name, {"parameters": parameters}, settings, code=code)
        for name, parameters, settings, code in (
            (
                "invisible characters",
                {"body": "fi\u200bnal war\u00adn\u2060ing"},
                {"phrases": ["final warning"]},
                "prohibited_phrase",
            ),
            (
                "markup, digits and look-alikes at once",
                {"body": "f1<b></b>n\u0430l <i>w4rning</i>"},
                {"phrases": ["final warning"]},
                "prohibited_phrase",
            ),
            (
                "an attribute that only sounds like hiding",
                {"body": '<p title="hidden gem">fi<b></b>nal warning</p>'},
                {"phrases": ["final warning"]},
                "prohibited_phrase",
            ),
            (
                "letters shown from right to left",
                {"body": "\u202egninraw lanif\u202c"},
                {"phrases": ["final warning"]},
                "prohibited_phrase",
            ),
            (
                "a word of a mail's head",
                {"body": "=?utf-8?B?ZmluYWwg?= =?utf-8?q?w=61rning?="},
                {"phrases": ["final warning"]},
                "prohibited_phrase",
            ),
            (
                "words that a mark turns from right to left",
                {"body": "\u200fwarning\u200f final"},
                {"phrases": ["final warning"]},
                "prohibited_phrase",
            ),
            (
                "letters in parentheses",
                {"body": "⒡⒤⒩⒜⒧ warning"},
                {"phrases": ["final warning"]},
                "prohibited_phrase",
            ),
            (
                "a whole word in the name of a field",
                {"what the hell": 1},
                {"phrases": ["hell"]},
                "prohibited_phrase",
            ),
            (
                "a pattern",
                {"body": "Pay within 3 days"},
                {"patterns": [r"within \d+ days"]},
                "prohibited_phrase",
            ),
            (
                "escaped twice",
                {"body": "https://x.partner.example/final%2520warning"},
                {"phrases": ["final warning"]},
                "leftover_escape",
            ),
        )
    )


def _prohibited(phrase: str, why: str = "") -> tuple[str, str]:
    cut = phrase if len(phrase) <= _LONGEST_SHOWN else phrase[:_LONGEST_SHOWN] + "…"
    return "prohibited_phrase", f"This holds the prohibited phrase “{cut}”{why}: leave it out."
