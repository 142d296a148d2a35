"""Suite diff (`pairmark/suite-diff/v1`): what changed between two suite versions, item by item and cell by cell."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from pairmark.domain.documents.base import Count, Digest, Document, Identifier, Strict, Text
from pairmark.domain.documents.exact import Exact

ItemPart = Literal["prompt", "checker", "group", "tags"]
"""`prompt` is the digest of what is asked, of the agent or of the attacker; `checker` that of the end-state check."""

Setting = Literal["suite", "environment.digest", "environment.clock", "grid", "epochs", "weighting"]
Comparability = Literal["same-mix", "common-mix", "none"]


class SuiteSide(Strict):
    """One of the two suite versions, and its size."""

    name: Identifier
    version: Identifier
    digest: Digest
    tasks: Count
    injections: Count
    cells: Count


class ItemChange(Strict):
    """A task or injection under one id whose parts differ."""

    id: Identifier
    parts: tuple[ItemPart, ...]


class ItemsDiff(Strict):
    """Tasks or injections by id. `same` counts those with every part equal; lists are in the manifests' order."""

    same: Count
    changed: tuple[ItemChange, ...]
    added: tuple[Identifier, ...]
    removed: tuple[Identifier, ...]


class ToolsDiff(Strict):
    """Tools by name."""

    same: Count
    changed: tuple[Identifier, ...]
    added: tuple[Identifier, ...]
    removed: tuple[Identifier, ...]


class SettingChange(Strict):
    """What holds for the whole suite and differs. A grid is shown as `full` or the number of its cells."""

    setting: Setting
    left: Text | None
    right: Text | None


class CellsDiff(Strict):
    """Planned cells by (task, injection). `surviving` + `changed` are planned in both; only surviving ones are common.

    A cell survives where the digests of its task, its injection, their checkers and the environment are all equal.
    `changed_by` counts the changed cells per part; a cell changed in two parts counts in both.
    """

    left: Count
    right: Count
    surviving: Count
    changed: Count
    added: Count
    removed: Count
    changed_by: dict[Text, Count]
    share_of_left: Exact | None
    share_of_right: Exact | None
    """Weight of the surviving cells under each side's own weighting; null where that side plans no cell."""


class OverOneSide(Strict):
    """Certificates over one side's mix that stand: how many, and the newest of them."""

    count: Count
    newest: tuple[Identifier, ...]


class CertificatesOver(Strict):
    """What a registry holds over either side; all of one side compare with those of the other as `comparability` says."""

    left: OverOneSide
    right: OverOneSide


class SuiteDiff(Document):
    """What changed from `left` to `right`.

    `comparability`: `same-mix` (equal digests: every certificate of one compares with every certificate of the other),
    `common-mix` (only on the surviving cells, and only when asked for), `none`. `common_mix_refusal` says why even the
    surviving cells, all of them observed, could not stand for the two suites; null where they could, and for equal
    digests. `notes` say what to mind. `certificates` is null where no registry was asked.
    """

    title: ClassVar[str] = "suite-diff"

    schema_: Literal["pairmark/suite-diff/v1"] = Field(alias="schema")
    left: SuiteSide
    right: SuiteSide
    settings: tuple[SettingChange, ...]
    tools: ToolsDiff
    tasks: ItemsDiff
    injections: ItemsDiff
    benign_cells: CellsDiff
    attacked_cells: CellsDiff
    comparability: Comparability
    common_mix_refusal: Text | None
    certificates: CertificatesOver | None = None
    notes: tuple[Text, ...]
