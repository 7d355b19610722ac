"""The manifest of a run directory as a reader finds it: every field is checked, and an error names the damaged one."""

from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,  # of which pydantic needs it before Python 3.12
)

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    NonNegativeFloat,
    NonNegativeInt,
    ValidationError,
    model_validator,
)
from typing_extensions import TypedDict

from anabranch.foundation import checksums
from anabranch.foundation.checksums import DamagedError
from anabranch.foundation.folders import Folder
from anabranch.results.files import MANIFEST

FORMAT = 2


class ManifestError(ValueError):
    """A manifest that cannot be read, or is damaged: says which file, which field, and what would be right."""


def read(folder: Folder) -> dict[str, Any]:
    """The manifest as it was written.

    Raises:
        FileNotFoundError: there is none.
        ManifestError: it cannot be read, is damaged, or is not one that this version has written.
    """
    path = folder.path / MANIFEST
    try:
        document = checksums.read_json(folder, MANIFEST, FORMAT)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise unreadable(path, error) from None
    except DamagedError as error:
        raise ManifestError(f"{error}; run the scenario again") from None
    try:
        _Manifest.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
        raise ManifestError(f"{path}: {field or 'the manifest'}: {first['msg']}") from None
    return document


def unreadable(path: Path, error: OSError) -> ManifestError:
    """The error of a file of a run directory that cannot be read."""
    return ManifestError(
        f"{error.filename or path}: cannot be read ({error.strerror}); a run directory is what `anabranch run --out` writes"
    )


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True)


# Dictionaries rather than models: of a large network, models of all links take half of the time and memory of a short run.
class _Node(TypedDict):
    __pydantic_config__ = ConfigDict(strict=True)  # type: ignore[misc]

    name: str
    latitude: FiniteFloat | None
    longitude: FiniteFloat | None
    x: FiniteFloat | None
    y: FiniteFloat | None


class _Link(TypedDict):
    __pydantic_config__ = ConfigDict(strict=True)  # type: ignore[misc]

    src: str
    dst: str
    capacity_bps: NonNegativeFloat
    delay_s: NonNegativeFloat
    loss: NotRequired[NonNegativeFloat | None]


class _Topology(_Strict):
    nodes: list[_Node]
    links: list[_Link]

    @model_validator(mode="after")
    def _ends_are_nodes(self) -> "_Topology":
        names = {node["name"] for node in self.nodes}
        for index, link in enumerate(self.links):
            if link["src"] not in names or link["dst"] not in names:
                raise ValueError(f"links[{index}] is not between two of the nodes")
        return self


_Count = Annotated[NonNegativeInt, Field(lt=2**64)]


class _Run(_Strict):
    run: Annotated[NonNegativeInt, Field(lt=2**32)]
    variant: dict[str, Any]
    seed: _Count
    status: Literal["complete", "interrupted"]
    warm_up_s: Annotated[NonNegativeFloat, Field(allow_inf_nan=False)]
    simulated_s: Annotated[NonNegativeFloat, Field(allow_inf_nan=False)]
    result_hash: str
    packet_hops: _Count
    packets_expired: _Count = 0
    threads: _Count = 1


class _Warning(_Strict):
    file: str
    line: NonNegativeInt | None
    field: str
    message: str


class _Refused(_Strict):
    variant: dict[str, Any]
    why: str


class _Manifest(_Strict):
    title: str
    engine: str
    jitter: Annotated[NonNegativeFloat, Field(allow_inf_nan=False)] = 0.0
    anabranch: str
    scenario: dict[str, Any]
    directory: str = "."
    """Where relative file names of the scenario start."""
    scenario_hash: str
    command: list[str]
    keys: list[str]
    treatments: list[str] = []
    warnings: list[_Warning] = Field(default_factory=list)
    topology: _Topology
    runs: list[_Run]
    planned_runs: _Count = 0
    refused: list[_Refused] = Field(default_factory=list)
    """Variants that the engine does not run."""
    files: list[str]
    checksums: dict[Annotated[str, Field(pattern=r"^(series/)?[^/]+\.parquet$")], int]

    @model_validator(mode="after")
    def _runs_have_the_keys(self) -> "_Manifest":
        if missing := {"flows.parquet", "links.parquet"} - self.checksums.keys():
            raise ValueError(f"checksums lacks {min(missing)}")
        numbers = [run.run for run in self.runs]
        if len(set(numbers)) < len(numbers):
            raise ValueError("two of the runs have one number")
        for index, run in enumerate(self.runs):
            if sorted(run.variant) != sorted(self.keys):
                raise ValueError(f"runs[{index}].variant must have the keys {self.keys}")
        return self
