"""What holds for every page without looking at it: numbers and words are the API's, nothing is inline, errors are pages."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

from pairmark.cli import text_report
from pairmark.domain.world import World
from pairmark.http.pages.checklist import OUTCOMES, VERDICTS
from pairmark.http.pages.rendering import HOME, assets
from pairmark.http.pages.shown import percent, points, probability
from pairmark.stats.exact import decimal_string
from tests.pages.filling import Filled, listening

HTML = {"Accept": "text/html,application/xhtml+xml"}


def get(service: Filled, path: str, **headers: str) -> httpx.Response:
    return httpx.get(service.url + path, headers={**HTML, **headers}, timeout=120)


def paths(demo: Filled) -> dict[str, str]:
    """A page of every kind."""
    certificate = f"/certificates/{demo['certified certificate']}"
    return {
        "start": "/",
        "search": "/search?q=bank",
        "suites": "/suites",
        "suite": f"/suites/{demo['banking v1.2.2']}",
        "suite diff": f"/suites/{demo['banking v1.1.2']}/diff/{demo['banking v1.2.2']}",
        "run": f"/runs/{demo['certified attacked']}",
        "benign run": f"/runs/{demo['certified benign']}",
        "announced run": f"/runs/{demo['announced']}",
        "episode": f"/runs/{demo['certified benign']}/episode?task=user_task_0&epoch=1",
        "certifications": "/certifications",
        "refused": f"/certifications/{demo['refused']}",
        "quarantined": f"/certifications/{demo['quarantined']}",
        "certified": f"/certifications/{demo['certified']}",
        "certificate": certificate,
        "revoked": f"/certificates/{demo['revoked certificate']}",
        "pairs": f"{certificate}/cells?kind=lost",
        "compare form": "/compare",
        "compare": f"/compare?left={demo['bare certificate']}&right={demo['filter certificate']}",
        "compare several": f"/compare?left={demo['bare certificate']}&right={demo['filter certificate']}&right={demo['superseded certificate']}",
        "refused comparison": f"/compare?left={demo['bare certificate']}&right={demo['other certificate']}",
        "history form": "/history",
        "history": f"/history?suite={demo['filter suite']}&include=incomparable",
        "plan": "/plan",
        "plan of a pilot": f"/plan?pilot={demo['filter certificate']}",
        "log": "/log",
        "log entry": "/log/3",
    }


class Seen(HTMLParser):
    """Elements with their attributes, and the text that is shown."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._in: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "pre":
            self._in.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self._in.pop()

    def handle_data(self, data: str) -> None:
        if not self._in:
            self.text.append(data)


def test_every_page_is_light_and_brings_nothing_inline_or_from_outside(demo: Filled) -> None:
    for kind, path in paths(demo).items():
        answer = get(demo, path)
        assert answer.status_code == 200, kind
        assert len(answer.content) < 300_000, kind
        assert answer.text.count("<h1") == 1, kind
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        for tag, attributes in Seen(answer.text).elements:
            assert tag != "style", kind
            assert not [name for name in attributes if name == "style" or name.startswith("on")], (kind, tag, attributes)
            for name in ("src", "href", "action"):
                place = attributes.get(name) or ""
                assert re.match(r"^(/(?!/)|#|$)", place), (kind, place)
            if tag == "script":
                assert (attributes.get("src") or "").startswith("/static/"), kind


def forms_of(value: Any) -> set[str]:
    """Every way a page may write the numbers in an answer."""
    if isinstance(value, bool) or value is None:
        return set()
    if isinstance(value, int):
        return {str(value), decimal_string(value, 2), f"{value:,}".replace(",", " ")}
    if isinstance(value, list):
        return set().union(*map(forms_of, value), {str(len(value))})
    if isinstance(value, dict):
        return set().union(*(forms_of(one) for one in value.values()))
    found = set(re.findall(r"\d+(?:[.]\d+)?", value)) | {value}
    if re.fullmatch(r"-?\d+[.]\d+|-?\d+/\d+", value):
        for shown in (percent(value), points(value)):
            found |= set(re.findall(r"\d+(?:[.]\d+)?", shown))
    return found


def test_a_certificate_shows_no_number_that_the_interface_does_not(demo: Filled) -> None:
    certificate = demo["certified certificate"]
    answers = [demo.get(f"/v1/certificates/{certificate}"), demo.get(f"/v1/certificates/{certificate}/status"), demo.get("/v1/log/entries?limit=1000")]
    answers.append(demo.get(f"/v1/runs/{answers[0]['certificate']['runs']['attacked']['id']}"))
    known = set().union(*map(forms_of, answers)) | {"95", "0", "25", "50", "75", "100", "8", "0.1.0"}
    page = get(demo, f"/certificates/{certificate}").text
    main = page[page.index("<main") : page.index('id="map"')]
    cells = [text for tag, text in re.findall(r'<(td|span) class="[^"]*number[^"]*"[^>]*>([^<]*)<', main)]
    shown = {number for text in cells for number in re.findall(r"\d+(?:[.]\d+)?", text)}
    assert len(shown) > 30
    assert shown - known == set()


def p_values(value: Any) -> set[str]:
    """The p values of an answer as a page writes them."""
    if isinstance(value, dict):
        own = [probability(one) for key, one in value.items() if key in ("p_value", "p_adjusted") and one is not None]
        return {number for text in own for number in re.findall(r"\d+(?:[.]\d+)?", text)}.union(*map(p_values, value.values()))
    return set().union(*map(p_values, value)) if isinstance(value, list) else set()


def test_no_other_page_shows_a_number_that_the_interface_does_not(demo: Filled) -> None:
    every, run, pair = paths(demo), f"/v1/runs/{demo['certified attacked']}", f"left={demo['bare certificate']}&right={demo['filter certificate']}"
    for kind, answers in (
        ("start", ["/v1/certifications", "/v1/suites"]),
        ("run", [run, f"{run}/counts", f"{run}/episodes?limit=50&format=json"]),
        ("refused", [f"/v1/certifications/{demo['refused']}"]),
        ("suite diff", [f"/v1{every['suite diff']}"]),
        ("compare", [f"/v1/comparisons?{pair}"]),
        ("history", [f"/v1{every['history']}"]),
    ):
        given = [demo.get(answer) for answer in answers]
        known = set().union(*map(forms_of, given), *map(p_values, given))
        page = get(demo, every[kind]).text
        main = re.sub(r"<svg.*?</svg>", "", page[page.index("<main") :], flags=re.DOTALL)
        cells = [text for _, text in re.findall(r'<(td|span) class="[^"]*number[^"]*"[^>]*>([^<]*)<', main)]
        shown = {number for text in cells for number in re.findall(r"\d+(?:[.]\d+)?", text)}
        assert len(shown) >= 4, kind
        assert shown - known == set(), kind


def test_a_checklist_is_in_the_words_of_check(demo: Filled) -> None:
    assert {outcome: word for outcome, (_, word) in OUTCOMES.items()} == text_report._WORDS
    assert {verdict: means for verdict, (_, means) in VERDICTS.items()} == text_report._MEANS
    for name in ("refused", "quarantined", "certified"):
        report = demo.get(f"/v1/certifications/{demo[name]}")["report"]
        text = " ".join(" ".join(Seen(get(demo, f"/certifications/{demo[name]}").text).text).split())
        place = 0
        for finding in report["findings"]:
            place = text.index(f"{OUTCOMES[finding['outcome']][1]} {finding['rule']}", place)
            remedy = text_report._remedy_of(finding["rule"])
            is_open = finding["outcome"] in ("failed", "held")
            said = finding["message"].removesuffix(f"; {remedy}").split("; ") if is_open else [finding["message"]]
            for part in [*said, *([f"What to do: {remedy}"] if is_open else [])]:
                assert " ".join(part.replace("`", " ").split()) in " ".join(text[place:].replace(" .", ".").split()), part


def test_a_pair_that_is_not_certified_has_no_numbers(demo: Filled) -> None:
    for name in ("refused", "quarantined"):
        text = get(demo, f"/certifications/{demo[name]}").text
        assert "95 % interval" not in text
        assert not re.search(r"\d\d[.]\d\d\N{NO-BREAK SPACE}%", text)


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/nowhere", 404, "no-such-resource"), ("/certificates/none", 404, "unknown-certificate"), ("/runs/none", 404, "unknown-run"),
        ("/suites/none", 404, "unknown-suite"), ("/history?suite=none", 404, "unknown-suite"), ("/log/99999999", 422, "invalid-parameter"),
        ("/history?suite=x&colour=red", 422, "invalid-parameter"), ("/certificates/x/cells?kind=odd", 422, "invalid-parameter"),
        ("/log/x", 422, "invalid-parameter"), ("/certifications?cursor=x", 422, "bad-cursor"), ("/runs/%00", 404, "unknown-run"),
    ],
)  # fmt: skip
def test_an_error_is_a_page_that_says_what_to_do(demo: Filled, path: str, status: int, code: str) -> None:
    answer = get(demo, path)
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert f"<code>{code}</code>" in answer.text
    assert "expected" in answer.text or "parameter `" in answer.text or "parameter <code>" in answer.text
    assert "Traceback" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_interface_and_other_programs_still_get_problems(demo: Filled) -> None:
    for path, headers in (("/v1/nowhere", HTML), ("/v1/runs/none", HTML), ("/nowhere", {"Accept": "application/json"}), ("/nowhere", {})):
        answer = httpx.get(demo.url + path, headers=headers)
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"
    assert httpx.post(demo.url + "/plan", headers=HTML).status_code == 405


def test_a_crash_of_a_page_says_nothing_of_its_inside(demo: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    from pairmark.http.pages.sources import Sources

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a secret place")

    monkeypatch.setattr(Sources, "suites", broken)
    answer = get(demo, "/suites")
    assert answer.status_code == 500
    assert "A fault of the service" in answer.text
    assert "secret place" not in answer.text


def test_an_empty_service_says_what_will_stand_here(empty: Filled) -> None:
    text = get(empty, "/").text
    for words in ("No certificate yet", "Nothing waits", "No suite yet"):
        assert words in text
    for path in ("/suites", "/certifications", "/history", "/compare", "/plan", "/log", "/search"):
        assert get(empty, path).status_code == 200, path


def test_where_sign_in_is_on_only_what_is_published_is_seen(tmp_path: Path) -> None:
    with listening(tmp_path) as service:
        service.certify_world("own", World())
        service.certify_world("public", World().undefended())
        service.post(f"/v1/certificates/{service['public certificate']}/publish", {"episodes": "private"})
    with listening(tmp_path, sign_in="required") as closed:
        start = get(closed, "/").text
        assert service["public certificate"] in start
        assert service["own certificate"] not in start
        shown = get(closed, f"/certificates/{service['public certificate']}").text
        assert "The pair, over the whole suite" in shown
        assert "Its episodes are private" in shown
        assert "Its episodes are not public" in shown
        assert "--artifacts" not in shown
        assert "Episodes are private" in get(closed, f"/runs/{service['public attacked']}").text
        assert get(closed, f"/runs/{service['public benign']}/episode?task=task_000&epoch=1").status_code == 403
        assert httpx.get(f"{closed.url}/v1/certificates/{service['public certificate']}/cells").status_code == 403
        for path in (f"/certificates/{service['own certificate']}", f"/runs/{service['own attacked']}", f"/certifications/{service['own']}"):
            assert get(closed, path).status_code == 404, path
        assert service["own certificate"] not in get(closed, f"/search?q={service['own certificate']}").headers.get("location", "")
        assert '<a href="/people">sign in</a>' in get(closed, f"/certificates/{service['own certificate']}").text
        answer = get(closed, "/", Authorization="Bearer pmk_wrong.wrong")
        assert answer.status_code == 401
        assert "Sign in first" in answer.text


def test_static_files_are_kept_for_ever_under_the_name_of_their_content(demo: Filled) -> None:
    for name, (content, media_type, digest) in assets().items():
        answer = httpx.get(f"{demo.url}/static/{digest}/{name}")
        assert answer.content == content
        assert answer.headers["content-type"] == media_type
        assert "immutable" in answer.headers["cache-control"]
        assert httpx.get(f"{demo.url}/static/0/{name}").status_code == 404
    for path in (HOME / "static").iterdir():
        assert not re.search(r"(https?:)?//(?!www[.]w3[.]org/2000/svg)[a-z]", path.read_text("utf-8").replace("// ", "")), path


def test_pages_are_not_in_the_description_of_the_interface(demo: Filled) -> None:
    assert all(path.startswith(("/v1/", "/healthz", "/readyz", "/metrics")) for path in demo.get("/openapi.json")["paths"])


def test_the_lists_of_the_interface_page_and_filter(demo: Filled) -> None:
    first = demo.get("/v1/certifications?limit=3")
    rest = demo.get(f"/v1/certifications?limit=1000&cursor={first['next']}")
    every = [*first["items"], *rest["items"]]
    assert [item["created_at"] for item in every] == sorted((item["created_at"] for item in every), reverse=True)
    assert {item["verdict"] for item in every} == {"certified", "refused", "quarantined"}
    waiting = demo.get("/v1/certifications?waiting=true")["items"]
    assert [item["id"] for item in waiting] == [demo["quarantined"]]
    assert waiting[0]["metrics"] is None
    assert json.dumps(demo.get("/v1/certifications?verdict=refused")["items"]).count('"verdict": "refused"') == 1


def test_counts_of_a_run_are_those_of_its_report(demo: Filled) -> None:
    report = demo.get(f"/v1/certifications/{demo['refused']}")["report"]
    for role in ("benign", "attacked", "baseline"):
        counts = demo.get(f"/v1/runs/{demo[f'refused {role}']}/counts")
        assert {key: counts[key] for key in report["counts"][role]} == report["counts"][role]


def test_cells_of_a_certificate_add_up_to_its_flips(demo: Filled) -> None:
    report = demo.get(f"/v1/certificates/{demo['certified certificate']}")["report"]
    cells = demo.get(f"/v1/certificates/{demo['certified certificate']}/cells")["cells"]
    flips = demo.get(f"/v1/certificates/{demo['certified certificate']}/flips")
    for kind in ("lost", "gained", "kept", "neither"):
        assert sum(cells[kind]) == report["metrics"]["flips"][kind] == sum(one[3] == kind for one in flips)
    assert sum(cells["attack_success"]) == report["metrics"]["attack_success_rate"]["counts"]["successes"]
