"""What can go wrong, in words for a person and a stable code for a machine.

The docstring of an error is its message; `reason` is its code.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from lifecycle.text.masking import mask_text


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a document: an item of `errors[]` in an answer.

    `path` is a dotted path with list indices in brackets (`parameters.items[2].amount`), empty for
    the whole document. `rule` and `level` are set if the fault is a finding of Sentinel.
    """

    code: str
    path: str = ""
    required: str | None = None
    actual: str | None = None
    suggestion: str | None = None
    rule: str | None = None
    level: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the wire form; only findings have `rule` and `level`.

        A name that an agent made up may be a credential: it is masked in a path, as a value is.
        """
        item: dict[str, Any] = {
            "code": self.code,
            "path": mask_text(self.path),
            "required": self.required,
            "actual": self.actual,
            "suggestion": self.suggestion,
        }
        if self.rule is not None:
            item |= {"rule": self.rule, "level": self.level}
        return item


class GovernanceError(Exception):
    """Signoff cannot do this."""

    reason: ClassVar[str] = "unknown_command"

    def __init__(self, message: str | None = None) -> None:
        """Take the message of this one case, else the sentence of the class."""
        # python -OO keeps no docstrings: the code is still more than nothing.
        super().__init__(message or (type(self).__doc__ or self.reason).strip())

    @property
    def code(self) -> str:
        """The stable code of this error."""
        return self.reason


class Refused(GovernanceError):
    """The document was refused."""

    def __init__(
        self,
        faults: Iterable[Fault],
        *,
        retry_after_s: int | None = None,
    ) -> None:
        """Collect all faults of one step; the first is the primary one."""
        self.faults = tuple(faults)
        if not self.faults:
            raise ValueError("a refusal names at least one fault")
        self.retry_after_s = retry_after_s
        super().__init__(self.faults[0].suggestion or self.faults[0].code)

    @property
    def code(self) -> str:
        """The code of the primary fault."""
        return self.faults[0].code


class ReviewRefused(GovernanceError):
    """This decision does not count."""

    def __init__(self, code: str, message: str, *, passing: bool = False) -> None:
        """Name the stable code and the sentence for the person.

        `passing`: what stands in the way passes by itself, and the same signal counts then.
        """
        self._code = code
        self.passing = passing
        super().__init__(message)

    @property
    def code(self) -> str:
        """The stable code of the refusal."""
        return self._code


class IllegalTransition(GovernanceError):
    """A proposal in this state does not know this trigger."""

    reason = "illegal_transition"


class StaleProposal(GovernanceError):
    """Somebody else moved this proposal in the meantime."""

    reason = "already_decided"


class ProposalNotFound(GovernanceError):
    """No proposal has this id."""

    reason = "unknown_proposal"


class AmbiguousId(GovernanceError):
    """Several proposals begin with these characters; give more of them."""

    reason = "ambiguous_id"


class PermitRefused(GovernanceError):
    """The permit does not allow this call."""

    def __init__(self, code: str, message: str) -> None:
        """Name the stable code and the sentence."""
        self._code = code
        super().__init__(message)

    @property
    def code(self) -> str:
        """The stable code of the refusal."""
        return self._code
