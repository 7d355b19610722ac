"""Names that a misspelt one may mean."""

from collections.abc import Iterable
from difflib import get_close_matches

from anabranch.foundation import ends


def suggest(wrong: str, right: Iterable[str]) -> str:
    """``did you mean "x"?`` for a close name or another name of the same end; without one, all that are possible."""
    choices = sorted(set(right))
    meant = ends.key_of(ends.canonical(wrong), choices)
    close = [meant] if meant is not None else get_close_matches(wrong, choices, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    shown = ", ".join(choices[:20]) + (", ..." if len(choices) > 20 else "")
    return f"possible: {shown}" if choices else "there is none"
