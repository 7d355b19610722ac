"""XML for the readers that need it: without entities, without a document type, and with names free of namespaces."""

from xml.etree.ElementTree import Element, ParseError

from anabranch.topologies.errors import TopologyError

_MOST_DEPTH = 50


def root(data: bytes, source: str) -> Element:
    """The root element.

    Raises:
        TopologyError: no XML, or XML that declares entities or a document type.
    """
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        top: Element = fromstring(data, forbid_dtd=True)
    except DefusedXmlException:
        raise TopologyError(
            source,
            "document type",
            None,
            "declares a document type or entities, which are not read; remove the DOCTYPE",
        ) from None
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


def content(element: Element | None) -> str | None:
    """The text of an element without blanks around it, ``None`` if there is none."""
    return None if element is None or element.text is None else element.text.strip() or None
