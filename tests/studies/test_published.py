"""Published numbers: each has the sentence that says it, and that sentence is in the paper's text."""

import re
import unicodedata
from itertools import groupby
from pathlib import Path

import pytest

from anabranch.studies.papers import published, registry

TEXTS = Path(__file__).parents[3] / "shared" / "papers"
"""The papers as plain text; not part of the repository."""
MOST_WORDS = 50
PASSAGE = '[[passage]]\nwhere = "Table 1"\nunit = "Mbit/s"\nsentence = "{}"\nnumbers = [{}]\n'


def plain(text: str) -> str:
    """Text without what typesetting adds: ligatures, hyphenation at line ends (so without any hyphen), curly quotes, line breaks.

    Signs around formulas go too: texts of one paper differ in whether a sign like "not equal" stands between them.
    """
    text = unicodedata.normalize("NFKC", text).translate(str.maketrans("‘’“”–", "''\"\"-", "$"))
    return " ".join(re.sub(r"-\s*", "", text).split())


def is_said(sentence: str, text: str) -> bool:
    """Whether the pieces of a sentence between its ellipses stand in the text, in this order."""
    start = 0
    for piece in plain(sentence).split("..."):
        found = text.find(piece.strip(), start)
        if found < 0:
            return False
        start = found + len(piece.strip())
    return True


@pytest.mark.skipif(not TEXTS.is_dir(), reason="the papers' texts are not here")
@pytest.mark.parametrize("name", registry.PAPERS)
def test_the_paper_says_every_published_number(name: str) -> None:
    text = plain((TEXTS / f"{name}.txt").read_text(encoding="utf-8"))
    sentences = {number.sentence for number in published.load(registry.folder(name)).values()}
    assert [sentence for sentence in sorted(sentences) if not is_said(sentence, text)] == []


@pytest.mark.parametrize("name", registry.PAPERS)
def test_quotations_are_short(name: str) -> None:
    numbers = published.load(registry.folder(name)).values()
    assert [number.id for number in numbers if len(number.sentence.split()) > MOST_WORDS] == []


def test_what_a_sentence_must_have() -> None:
    """Ligatures, hyphenation, line breaks and the signs around formulas do not count; the order of pieces does."""
    text = plain("All the ﬂows reach a through-\nput of 10 Mbps. Later they fall to 5 Mbps.")
    assert is_said("the flows reach a throughput of 10 Mbps", text)
    assert is_said("reach a throughput ... fall to 5 Mbps", text)
    assert is_said(r"n $\neq$ 5", plain(r"for n \neq 5"))
    assert not is_said("fall to 5 Mbps ... reach a throughput", text)
    assert not is_said("a throughput of 20 Mbps", text)


def test_the_text_of_kikolo_gives_no_share_of_a_link_of_1_gbit_s() -> None:
    """Its figure 5 has an order only; figure 6 has "almost 100%", for BIC and Kikolo; the equilibrium is computed by us."""
    numbers = published.load(registry.folder("kikolo"))
    assert {number.where for number in numbers.values()} == {"Figure 4", "Figure 6", "Figure 8"}
    shares = [number.said for number in numbers.values() if number.where == "Figure 6"]
    assert set(shares) == {"almost 100%"}
    named = {number.id.split("-")[2] for number in numbers.values() if number.where == "Figure 6"}
    assert named == {"kikolo", "bic"}


def test_tables_are_quoted_in_the_order_of_their_columns() -> None:
    """By hand from Table 5 of TCPBP, 25 flows: TCPBP 0.89, delay 0.93, hop-count 0.92."""
    numbers = published.load(registry.folder("tcpbp"))
    row = [numbers[f"jain-{metric}-25"].value for metric in ("tcpbp", "delay", "hop-count")]
    assert row == [0.89, 0.93, 0.92]


def _write(directory: Path, sentence: str, *numbers: str) -> None:
    entries = ", ".join(f'{{ id = "{key}", what = "w", {rest} }}' for key, rest in (one.split(": ") for one in numbers))
    (directory / published.FILE).write_text(PASSAGE.format(sentence, entries))


def test_a_number_has_what_its_passage_says(tmp_path: Path) -> None:
    _write(tmp_path, "It has 20, at worst 5 Mbps, after half a second.", "a: value = 20", "b: at_least = 5.0",
           'c: at_most = 0.5, unit = "s", said = "half a second"')  # fmt: skip
    numbers = published.load(tmp_path)
    assert [(one.where, one.unit, one.text()) for one in numbers.values()] == [
        ("Table 1", "Mbit/s", "20"),
        ("Table 1", "Mbit/s", "at least 5"),
        ("Table 1", "s", "at most 0.5"),
    ]
    assert [number.value for number in numbers.values()] == [20, None, None]
    assert {sentence for sentence, _ in groupby(number.sentence for number in numbers.values())} == {
        "It has 20, at worst 5 Mbps, after half a second."
    }


@pytest.mark.parametrize(
    ("sentence", "numbers", "message"),
    [
        ("It has 20.", ["a: value = 2"], r"passage\[0\]\.numbers\[0\]: 2 is not in the sentence"),
        ("It has 2.5.", ["a: value = 2"], "is not in the sentence"),
        ("It has x20 or 20x.", ["a: value = 20"], "is not in the sentence"),
        ("It has 20 and 5.", ["a: value = 5", "b: value = 20"], r"numbers\[1\]: 20 is not in the sentence"),
        ("It is twice as fast.", ['a: value = 2, said = "thrice"'], 'said = "thrice": is not in the sentence'),
        ("It has about 20.", ['a: value = 2, said = "about 20"'], r"numbers\[0\]: 2 is not in said"),
        ("It has 2.", ["a: value = 2", "a: value = 2"], 'numbers.1..id = "a": is there twice'),
        ("It has 2.", ["a: vlaue = 2"], r"numbers\[0\]\.vlaue: is not a key"),
        ("It has 2.", ["a: unit = 3"], r"numbers\[0\]\.unit: must be a text"),
        ("It has 2.", ['a: said = "2"'], "must have one of value, at_most, at_least; has none"),
        ("It has 2.", ["a: value = 2, at_most = 2"], "has value, at_most"),
        ("It has 2.", ['a: value = "2"'], r"numbers\[0\]\.value: must be a number"),
    ],
)
def test_mistakes_are_named(sentence: str, numbers: list[str], message: str, tmp_path: Path) -> None:
    _write(tmp_path, sentence, *numbers)
    with pytest.raises(published.PublishedError, match=message):
        published.load(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[number]]\nid = "a"\n', "number: is not a key"),
        ('[[passage]]\nwhere = "T"\nsentence = "It has 2."\n', r"passage\[0\]\.numbers: must be a list of numbers"),
        (
            '[[passage]]\nwhere = "T"\nnumbers = [{ id = "a", what = "w", value = 2 }]\n',
            r"numbers\[0\]\.sentence: must be a text",
        ),
    ],
)
def test_mistakes_in_passages_are_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / published.FILE).write_text(text)
    with pytest.raises(published.PublishedError, match=message):
        published.load(tmp_path)
