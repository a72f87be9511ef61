"""Pipelines as a study file asks for them, and which variants they mean.

A pipeline sends records through stages: their hash, signatures of it, the verification of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct, structs

from mldsa_lab.bench.fleet import Fleet, find_station, find_variants
from mldsa_lab.bench.options import all_thread_counts, parse_thread_counts
from mldsa_lab.bench.shapes import BATCH_SIZE_MAX
from mldsa_lab.errors import LabError, located
from mldsa_lab.files import Positive, Text, check_unique
from mldsa_lab.records import Variant
from mldsa_lab.sets import SCHEMES, KeyForm, SetName

STAGE_OPERATIONS = ("hash", "keygen", "sign", "verify")
if TYPE_CHECKING:
    StageOperation = str
else:
    StageOperation = Literal[STAGE_OPERATIONS]
Batch = Annotated[int, Meta(ge=1, le=BATCH_SIZE_MAX)]


class Stage(Struct, frozen=True, forbid_unknown_fields=True):
    """A stage: by which ``implementation`` (or id of a variant, with wildcards), whose ``key`` form
    may be given. ``batch``: operations in each call of the batch interface, 1 for single calls.

    A hash is of the record. A key is generated from the seed of the record's key, which the other
    stages use as it was made ready before the clock starts. What is signed and verified is the
    digest of the last hash before it, the record where there is none. ``signature``: the name of
    the stage whose signatures are verified, if not given that of the last one of the same set.
    """

    operation: StageOperation
    set: SetName
    implementation: Text
    key: KeyForm | None = None
    batch: Batch = 1
    name: str = ""
    signature: str = ""

    def __post_init__(self) -> None:
        if self.operation not in SCHEMES[self.set].kin.operations:
            raise ValueError(f"{self.set} has no operation {self.operation}")
        if self.signature and self.operation != "verify":
            raise ValueError("signature: only verification takes one")

    @property
    def title(self) -> str:
        """Its name, or what it does."""
        return self.name or f"{self.operation} {self.set}"


class Pipeline(Struct, frozen=True, forbid_unknown_fields=True):
    """Stages that so many ``records`` of ``record_bytes`` go through, one after another or, where a
    stage takes batches, so many together as the largest of these has.

    ``keys``: "shared" by all records or of "each". ``threads``: how many do it at the same time, 1
    among them; if not given 1 to all cores. ``against``: the pipeline to compare it with.
    """

    name: Text
    stage: Annotated[tuple[Stage, ...], Meta(min_length=1)]
    worker: Text = "rust"
    records: Annotated[int, Meta(ge=1, le=10_000)] = 128
    record_bytes: Annotated[int, Meta(ge=0, le=1 << 20)] = 1024
    keys: Literal["shared", "each"] = "shared"
    threads: tuple[Positive, ...] = ()
    against: str = ""

    def __post_init__(self) -> None:
        titles = [stage.title for stage in self.stage]
        for title in titles:
            if titles.count(title) > 1:
                raise ValueError(f"two stages are called {title!r}: give each a name")
        for stage in self.stage:
            if self.group % stage.batch:
                raise ValueError(
                    f"stage {stage.title!r}: the largest batch, {self.group}, must be a multiple "
                    f"of {stage.batch}"
                )
        if self.threads and 1 not in self.threads:
            raise ValueError("threads: 1 must be among them, of which shares and latency are told")
        if self.records % self.group:
            raise ValueError(f"records: {self.records} are no whole batches of {self.group}")
        self.sources()

    @property
    def group(self) -> int:
        """How many records go through together."""
        return max(stage.batch for stage in self.stage)

    def sources(self) -> list[tuple[int, int]]:
        """Of each stage the stages, from 1, whose outputs are its message and its signature; 0
        where it has none. ValueError for a verification that nothing is signed for before."""
        found: list[tuple[int, int]] = []
        hashed = 0
        for number, stage in enumerate(self.stage, 1):
            message = signer = 0
            if stage.operation == "hash":
                hashed = number
            elif stage.operation == "sign":
                message = hashed
            elif stage.operation == "verify":
                signer = self._signer(number, stage)
                message, _ = found[signer - 1]
            found.append((message, signer))
        return found

    def _signer(self, number: int, stage: Stage) -> int:
        before = list(enumerate(self.stage[: number - 1], 1))
        signs = [(n, s) for n, s in before if s.operation == "sign" and s.set == stage.set]
        if stage.signature:
            signs = [(n, s) for n, s in signs if s.title == stage.signature]
        if not signs:
            named = f" called {stage.signature!r}" if stage.signature else ""
            raise ValueError(
                f"stage {stage.title!r}: no stage{named} before it signs with {stage.set}"
            )
        return signs[-1][0]


def check_pipelines(pipelines: Sequence[Pipeline]) -> None:
    """ValueError where two have one name, or one is compared with none."""
    names = [p.name for p in pipelines]
    check_unique(names, "pipeline")
    for p in pipelines:
        if p.against and (p.against not in names or p.against == p.name):
            raise ValueError(f"pipeline {p.name!r}: against: no other is called {p.against!r}")


def resolve(
    pipelines: Sequence[Pipeline], fleet: Fleet, variants: Sequence[Variant], cores: int
) -> list[Pipeline]:
    """Return the pipelines with the id of the variant that each stage means, and the threads to
    measure. LabError for one that cannot be measured here."""
    made = []
    for p in pipelines:
        where = f"pipeline {p.name!r}"
        with located(where):
            station = find_station(fleet, p.worker, "chains")
            threads = all_thread_counts(cores)
            if p.threads:
                threads = parse_thread_counts(map(str, p.threads), cores)
        stages = []
        for stage in p.stage:
            with located(f"{where}, stage {stage.title!r}"):
                named = stage.implementation, stage.set, stage.operation
                v = _suiting(stage, p, find_variants(fleet, station, variants, *named))
                if stage.batch > 1 and fleet.announced[v.id].mode != "batch":
                    raise LabError(f"{v.id} has no batch interface")
                stages.append(structs.replace(stage, implementation=v.id))
        made.append(structs.replace(p, stage=tuple(stages), threads=threads))
    return made


def _suiting(stage: Stage, of: Pipeline, found: Sequence[Variant]) -> Variant:
    """The one that is meant: of several the key form that suits, and then the last announced."""
    # A shared key is expanded once for all records, one of each record is not worth it.
    suits = stage.key or ("expanded" if of.keys == "shared" else "compact")
    formed = [v for v in found if v.key == suits]
    if stage.key and not formed:
        raise LabError(f"{stage.implementation} has no {stage.key} keys")
    if of.keys == "each" and not stage.key and not formed:
        raise LabError(
            f"{stage.implementation} has expanded keys alone, which are made before the clock "
            'starts: say key = "expanded" to leave out what a key of each record costs'
        )
    return (formed or found)[-1]
