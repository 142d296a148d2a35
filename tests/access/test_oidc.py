"""Tokens of a real issuer on loopback, validated against the keys that it publishes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from pairmark.http.access import first_admin_key
from tests.service.serving import Service, problem_in


@dataclass
class Issuer:
    """Publishes keys and signs what it is told to."""

    keys: dict[str, Any] = field(default_factory=dict)
    asked: int = 0
    url: str = ""

    def publish(self, key_id: str, kind: str = "rsa") -> None:
        self.keys[key_id] = rsa.generate_private_key(65537, 2048) if kind == "rsa" else ec.generate_private_key(ec.SECP256R1())

    def published(self) -> dict[str, Any]:
        found = []
        for key_id, key in self.keys.items():
            algorithm = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
            found.append({**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": key_id, "use": "sig"})
        return {"keys": found}

    def token(self, key_id: str = "one", algorithm: str = "RS256", header: dict[str, Any] | None = None, **changed: Any) -> str:
        now = int(time.time())
        claims = {"iss": self.url, "aud": "pairmark", "sub": "alice", "iat": now, "exp": now + 60, **changed}
        return jwt.encode({name: value for name, value in claims.items() if value is not None}, self.keys[key_id], algorithm, {"kid": key_id, **(header or {})})


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    found = Issuer()
    found.publish("one")

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked += 1
            value = {"issuer": found.url, "jwks_uri": f"{found.url}/keys"} if "well-known" in self.path else found.published()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(value).encode())

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    thread.join(5)


@pytest.fixture
def service(tmp_path: Path, issuer: Issuer) -> Service:
    made = Service.at(tmp_path / "data", oidc_issuer=issuer.url)
    parts = made.app.state.services
    admin = first_admin_key(parts.database, parts.new_id, parts.clock)
    member = {"name": "Alice", "roles": ["submitter"], "identity": {"issuer": issuer.url, "subject": "alice"}}
    answer = made.post("/v1/members", member, Authorization=f"Bearer {admin}")
    assert answer.status_code == 201
    again = made.post("/v1/members", member, Authorization=f"Bearer {admin}")
    problem_in(again, 409, "identity-taken")
    return made


def me(service: Service, token: str) -> Any:
    return service.get("/v1/me", {"Authorization": f"Bearer {token}"})


def test_a_members_token_opens_the_service(service: Service, issuer: Issuer) -> None:
    found = me(service, issuer.token()).json()
    assert (found["via"], found["permissions"]) == ("token", ["read", "submit"])
    asked = issuer.asked
    assert me(service, issuer.token()).status_code == 200
    assert issuer.asked == asked  # keys are kept for a while


def test_a_new_key_of_the_issuer_is_found(service: Service, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert me(service, issuer.token()).status_code == 200
    issuer.publish("two", "ec")
    monkeypatch.setattr("pairmark.adapters.identity.oidc.ASK_AGAIN_SECONDS", 0)
    assert me(service, issuer.token("two", "ES256")).status_code == 200


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": "somebody-else"}, {"iss": "http://127.0.0.1:1"}, {"exp": -120}, {"exp": None}, {"sub": None}, {"iat": None},
        {"aud": None}, {"nbf": 600}, {"sub": ""}, {"sub": "x" * 300},
    ],
    ids=str,
)
def test_a_token_that_does_not_hold_is_refused(service: Service, issuer: Issuer, changed: dict[str, Any]) -> None:
    now = int(time.time())  # seconds from now, since every process must call the test by the same name
    claims: dict[str, Any] = {name: now + value if isinstance(value, int) else value for name, value in changed.items()}
    problem_in(me(service, issuer.token(**claims)), 401, "bad-credentials")


def test_forged_tokens_are_refused(service: Service, issuer: Issuer) -> None:
    true_token = issuer.token()
    header, claims, _ = true_token.split(".")
    forger = Issuer(url=issuer.url)
    forger.publish("one")
    forged = [
        forger.token(), f"{header}.{claims}.", f"{header}.{claims}.AAAA", true_token[:-4] + "AAAA", "a.b.c", "..",
        jwt.encode(jwt.decode(true_token, options={"verify_signature": False}), "", "none", {"kid": "one"}),
        jwt.encode(jwt.decode(true_token, options={"verify_signature": False}), "a shared secret of some length, thirty-two", "HS256", {"kid": "one"}),
    ]
    for token in forged:
        problem_in(me(service, token), 401, "bad-credentials")


def test_whoever_is_no_member_stays_out(service: Service, issuer: Issuer) -> None:
    problem_in(me(service, issuer.token(sub="mallory")), 403, "unknown-identity")


def test_an_issuer_that_does_not_answer_is_said_so(tmp_path: Path) -> None:
    service = Service.at(tmp_path / "data", oidc_issuer="http://127.0.0.1:9")
    forger = Issuer(url="http://127.0.0.1:9")
    forger.publish("one")
    problem_in(me(service, forger.token()), 503, "identity-provider-unavailable")
