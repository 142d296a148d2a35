"""Options that commands about a certificate's standing share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Reason(StrEnum):
    """Why a certificate no longer stands: a closed list."""

    MEASUREMENT_ERROR = "measurement-error"
    SUITE_DEFECT = "suite-defect"
    CHECKER_DEFECT = "checker-defect"
    POLICY_DEFECT = "policy-defect"
    ARM_MISMATCH = "arm-mismatch"
    LEDGER_TAMPERING = "ledger-tampering"
    KEY_COMPROMISE = "key-compromise"
    SUBMITTER_REQUEST = "submitter-request"
    DUPLICATE = "duplicate"
    LEGAL = "legal"


CertificateId = Annotated[str, typer.Argument(metavar="CERTIFICATE", help="Id of the certificate.")]
ReasonOption = Annotated[Reason, typer.Option("--reason", help="Why: a code of the closed list.")]
NoteOption = Annotated[str | None, typer.Option("--note", metavar="TEXT", help="A sentence for people, signed with it.")]
