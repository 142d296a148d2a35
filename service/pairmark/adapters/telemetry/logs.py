"""Logs on standard error: for people, or one JSON object per line. Every record names its request, and none names a secret."""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from pairmark.adapters.telemetry.bound import bound_ids
from pairmark.adapters.telemetry.masking import masked, secrets_in
from pairmark.domain.errors import Malformed, shown

FORMATS = ("text", "json")


class TextLines(logging.Formatter):
    """`LEVEL: message [request id]`, with secrets masked; a traceback follows on lines of its own."""

    def __init__(self) -> None:
        super().__init__("%(levelname)s: %(message)s")
        self._secrets = secrets_in(os.environ)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """The line without a traceback."""
        request = bound_ids().get("request_id")
        return super().formatMessage(record) + (f" [{request}]" if request is not None else "")

    def format(self, record: logging.LogRecord) -> str:
        """The whole record."""
        return masked(super().format(record), self._secrets)


class JsonLines(JsonFormatter):
    """One object per line: `time`, `level`, `logger`, `message`, the bound ids, what the record adds, `exception`."""

    def __init__(self) -> None:
        super().__init__("%(message)s", rename_fields={"exc_info": "exception"})
        self._secrets = secrets_in(os.environ)

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        """The fields of a record."""
        log_data["time"] = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        log_data["level"], log_data["logger"] = record.levelname.lower(), record.name
        super().add_fields(log_data, record, message_dict)
        log_data.pop("color_message", None)  # uvicorn's second copy
        for name, value in bound_ids().items():
            log_data.setdefault(name, value)

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        return masked(super().format(record), self._secrets)


def log_config(form: str) -> dict[str, Any]:
    """`logging.config` for a service.

    Raises:
        Malformed: a format that is none.
    """
    if form not in FORMATS:
        raise Malformed(
            "bad-setting", f"expected PAIRMARK_LOG_FORMAT to be {' or '.join(FORMATS)}, found {shown(form)}", remedy="set it to one of them"
        )
    formatter = TextLines if form == "text" else JsonLines
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": formatter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines", "stream": "ext://sys.stderr"}},
        "loggers": {
            "pairmark": {"handlers": ["stderr"], "level": "INFO"},
            "uvicorn": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
            "uvicorn.error": {"level": "INFO"},
            "py.warnings": {"handlers": ["stderr"], "propagate": False},
        },
    }
