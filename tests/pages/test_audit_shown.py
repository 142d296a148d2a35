"""Changes of the audit log are read as sentences, not as a program's values."""

from __future__ import annotations

from pairmark.http.pages.audit_shown import differences, happened


def test_a_changed_row_says_each_field_before_and_after() -> None:
    change = {"table": "members", "row": "m", "before": {"roles": "reader", "name": "A"}, "after": {"roles": "admin", "name": "A"}}
    assert (happened(change), differences(change)) == ("changed", [("roles", "reader", "admin")])


def test_an_added_row_leaves_out_what_is_empty() -> None:
    change = {"table": "members", "row": "m", "before": None, "after": {"id": "m", "removed_at": None, "roles": ["a", "b"], "n": 0, "on": False}}
    assert happened(change) == "added"
    assert differences(change) == [("id", None, "m"), ("roles", None, "a, b"), ("n", None, "0"), ("on", None, "no")]


def test_a_removed_row_says_what_was_there() -> None:
    change = {"table": "keys", "row": "k", "before": {"id": "k"}, "after": None}
    assert (happened(change), differences(change)) == ("removed", [("id", "k", None)])
