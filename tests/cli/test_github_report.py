"""Workflow commands: what a message or a file name holds never ends the command or a property."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pairmark.cli.github_report import command

HOSTILE = st.text(alphabet=st.sampled_from("%\r\n:,ab;=\u202e0A2C"), max_size=30)


def _unescape(text: str) -> str:
    for code, letter in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, letter)
    return text


@given(HOSTILE, HOSTILE, HOSTILE)
def test_a_runner_reads_back_what_was_meant(message: str, title: str, file: str) -> None:
    line = command("error", message, title=title, file=file)
    assert "\n" not in line
    assert "\r" not in line
    name, _, rest = line.removeprefix("::").partition(" ")
    properties, _, said = rest.partition("::")
    assert name == "error"
    assert _unescape(said) == message
    found = dict(part.split("=", 1) for part in properties.split(","))
    assert {key: _unescape(value) for key, value in found.items()} == {"title": title, "file": file}


def test_what_is_not_known_is_left_out() -> None:
    assert command("notice", "fine", title="t", line=None) == "::notice title=t::fine"
