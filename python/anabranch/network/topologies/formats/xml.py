"""XML for the readers that need it: without entities, without a document type, and with names free of namespaces."""

from contextlib import suppress
from xml.etree.ElementTree import Element, ParseError, fromstring
from xml.parsers import expat

from anabranch.network.topologies.errors import TopologyError

_MOST_DEPTH = 50
_PIECE = 2**12
"""Bytes that are parsed at once in search of a document type."""


def root(data: bytes, source: str) -> Element:
    """The root element.

    Raises:
        TopologyError: no XML, or XML that declares entities or a document type.
    """
    if _has_document_type(data):
        raise TopologyError(
            source,
            "document type",
            None,
            "declares a document type or entities, which are not read; remove the DOCTYPE",
        )
    try:
        top: Element = fromstring(data)
    except ParseError as error:
        raise TopologyError(source, f"line {error.position[0]}", None, f"is not well-formed XML ({error})") from None
    except (ValueError, LookupError) as error:
        raise TopologyError(source, "encoding", None, f"cannot be read ({error}); save the file as UTF-8") from None
    level, depth = [top], 0
    while level:
        level = [child for element in level for child in element]
        depth += 1
        if depth > _MOST_DEPTH:
            raise TopologyError(source, "elements", None, f"are nested more than {_MOST_DEPTH} deep; no topology is")
    names: dict[str, str] = {}
    for element in top.iter():
        if isinstance(element.tag, str) and element.tag[0] == "{":
            element.tag = names.setdefault(element.tag, element.tag.rpartition("}")[2])
    return top


def _has_document_type(data: bytes) -> bool:
    """Whether there is a document type, which alone can declare entities. It can only be before the root element."""
    found: list[bool] = []
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = lambda *_: found.append(True)
    parser.StartElementHandler = lambda *_: found.append(False)
    for start in range(0, len(data), _PIECE):
        with suppress(expat.ExpatError, ValueError, LookupError):  # the reader of the whole document says where
            parser.Parse(data[start : start + _PIECE])
        if found:
            return found[0]
    return False


def content(element: Element | None) -> str | None:
    """The text of an element without blanks around it, ``None`` if there is none."""
    return None if element is None or element.text is None else element.text.strip() or None
