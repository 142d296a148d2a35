"""Writing a certificate's Every Eval Ever records: fetches the runs and episodes that it names."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from pairmark.app.every_eval_ever import aggregate_record, record_paths, sample_lines
from pairmark.cli.whole_files import write_whole
from pairmark.provenance.bundle import parse_bundle
from pairmark.provenance.statement import Statement, read_statement
from pairmark.provenance.trust import parse_trust

if TYPE_CHECKING:
    from pairmark.client import Client


def write_records(client: Client, certificate: str, folder: Path) -> list[Path]:
    """Write both files into `folder`, where the project's datastore has them below its root; their paths."""
    bundle = parse_bundle(client.log.bundle(certificate))
    statement = read_statement(bundle.certificate.envelope.payload)
    root_digest = parse_trust(client.log.trust()).root_digest
    attacked = client.run(statement.predicate.arms.attacked.id).value["run"]
    places = record_paths(bundle, statement, attacked)
    record, samples = folder / places.aggregate, folder / places.samples
    record.parent.mkdir(parents=True, exist_ok=True)
    count = write_whole(samples, _lines(client, statement, attacked))
    where: dict[str, Any] = {
        "format": "jsonl", "file_path": places.samples, "hash_algorithm": "sha256",
        "checksum": hashlib.sha256(samples.read_bytes()).hexdigest(), "total_rows": count,
    }  # fmt: skip
    value = aggregate_record(bundle, statement, attacked, where, root_digest)
    write_whole(record, [orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)])
    return [record, samples]


def _lines(client: Client, statement: Statement, run: dict[str, Any]) -> Iterator[bytes]:
    arms = statement.predicate.arms
    with tempfile.TemporaryDirectory(prefix="pairmark-") as scratch:
        for name, arm in (("benign_utility", arms.benign), ("utility_under_attack", arms.attacked)):
            ledger = Path(scratch) / "episodes.jsonl"
            client.episodes(arm.id, ledger)
            with ledger.open("rb") as lines:
                for value in sample_lines(statement, run, name, map(orjson.loads, lines)):  # type: ignore[arg-type]  # one of the two
                    yield orjson.dumps(value) + b"\n"
