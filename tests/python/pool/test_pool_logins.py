"""Links by which browsers without a certificate read the page, and attacks on them."""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from pool_daemon import PATIENCE_S, until
from pool_server import Manager, make_keys, running

from conftest import Outboard
from outboard.pool.client import PoolClient, PoolError
from outboard.pool.serve.guests import MOST_GUESTS
from outboard.pool.serve.logins import LINK_S, SESSION_S, Logins
from outboard.pool.serve.peer import Peer
from outboard.pool.serve.settings import Role

ROOT = '[roles]\nadmin = ["certificate root"]\n'


class Answer(NamedTuple):
    status: int
    text: str
    headers: dict[str, str]


class Site(NamedTuple):
    manager: Manager
    keys: dict[str, Path]
    page: str  # its address for browsers

    def client(self, name: str) -> PoolClient:
        return self.manager.client(self.keys[name])

    def link(self, name: str) -> str:
        """Returns the path and the query of a new link."""
        url = self.client(name).ask("POST", "/v1/page-links")["url"]
        assert url.startswith(f"https://{self.page}/login?code=")
        return str(url).removeprefix(f"https://{self.page}")

    def get(self, path: str, cookie: str = "", method: str = "GET", body: str = "") -> Answer:
        """Asks as a browser does that trusts the pool's root and has no certificate."""
        context = ssl.create_default_context(cafile=self.keys["ada"] / "pool.pem")
        context.check_hostname = False
        parts = urlsplit(f"https://{self.page}")
        browser = http.client.HTTPSConnection(
            parts.hostname, parts.port, timeout=PATIENCE_S, context=context
        )
        try:
            browser.request(method, path, body, {"cookie": cookie} if cookie else {})
            response = browser.getresponse()
            text = response.read().decode()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, text, headers)
        finally:
            browser.close()

    def log_in(self, name: str) -> str:
        """Returns the cookie of a new session."""
        answer = self.get(self.link(name))
        assert (answer.status, answer.headers["location"]) == (303, "/")
        return answer.headers["set-cookie"].partition(";")[0]


@contextlib.contextmanager
def serving(folder: Path, keys: dict[str, Path], *words: str) -> Iterator[Site]:
    manager = Manager(folder, ROOT, keys["m1"], "--page", "127.0.0.1:0", *words)
    assert manager.process.stdout is not None
    said = manager.process.stdout.readline()
    (page,) = re.findall(r"^page for browsers at https://(\S+)$", said)
    yield Site(manager, keys, page)
    log = (manager.folder / "log").read_text()
    assert manager.stop() == 0
    assert "Traceback" not in log
    assert "a request failed" not in log
    # Neither codes nor secrets of sessions are in the log.
    assert "code=" not in log
    assert "__Host-outboard" not in log


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("m")
    with serving(folder / "m", make_keys(folder / "keys")) as site:
        yield site


def test_a_link_opens_the_page(site: Site) -> None:
    answer = site.get(site.link("ada"))
    cookie, *facts = answer.headers["set-cookie"].split("; ")
    port = site.page.rpartition(":")[2]
    assert cookie.startswith(f"__Host-outboard-{port}=")
    assert len(cookie) > 50
    assert set(facts) == {"Path=/", "Max-Age=43200", "Secure", "HttpOnly", "SameSite=Lax"}
    page = site.get("/?refresh=5", cookie)
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "certificate ada" in page.text
    assert site.get("/pool.js").status == site.get("/pool.css").status == 200


@pytest.mark.parametrize("cookie", ["", "COOKIE=", "COOKIE=" + 43 * "A", "é=;;=", "other=SECRET"])
def test_without_a_session_there_is_no_page(cookie: str, site: Site) -> None:
    name, _, secret = site.log_in("ada").partition("=")
    answer = site.get("/", cookie.replace("COOKIE", name).replace("SECRET", secret))
    assert answer.status == 401
    assert "outboard pool page" in answer.text


def test_strangers_write_nothing_to_the_log(site: Site) -> None:
    log = site.manager.folder / "log"
    before = log.read_text()
    for path in ("/", "/login?code=x", "/v1/devices", "/none"):
        assert site.get(path).status >= 400
    assert log.read_text() == before


def test_looking_at_the_head_of_a_link_does_not_use_it(site: Site) -> None:
    link = site.link("ada")
    for method in ("HEAD", "OPTIONS", "POST"):
        assert site.get(link, method=method).status == 405
    assert site.get(link).status == 303
    assert site.get("/", site.log_in("ada"), "HEAD").status == 200


def test_strangers_take_few_descriptors(site: Site) -> None:
    """Whoever holds connections open and says nothing keeps others from the page, and from nothing
    else. They are cut off in time."""
    host, port = site.page.split(":")
    descriptors = Path(f"/proc/{site.manager.process.pid}/fd")
    before = len(list(descriptors.iterdir()))

    def taken() -> int:
        return len(list(descriptors.iterdir())) - before

    with contextlib.ExitStack() as silent:
        for _ in range(MOST_GUESTS + 200):
            silent.enter_context(socket.create_connection((host, int(port))))
        until(lambda: taken() >= MOST_GUESTS, "strangers take what they get", pause_s=0.001)
        end = time.monotonic() + 1
        while time.monotonic() < end:
            assert taken() <= MOST_GUESTS + 10
            time.sleep(0.01)
        assert site.client("ada").ask("GET", "/readyz")["status"] == "ready"
        assert site.get("/pool.css").status == 200  # after those before it were cut off


@pytest.mark.parametrize(
    "at_once",
    [5000, pytest.param(1, marks=pytest.mark.slow)],  # requests
)
def test_a_stranger_that_takes_no_answer_is_cut_off(at_once: int, site: Site) -> None:
    """Its answers would fill the memory of the manager."""
    host, port = site.page.split(":")
    context = ssl.create_default_context(cafile=site.keys["ada"] / "pool.pem")
    context.check_hostname = False
    memory = Path(f"/proc/{site.manager.process.pid}/statm")
    before = int(memory.read_text().split()[1])
    request = b"GET /pool.js HTTP/1.1\r\nhost: x\r\n\r\n"
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.settimeout(PATIENCE_S)
    plain.connect((host, int(port)))
    with context.wrap_socket(plain) as stranger, pytest.raises(OSError):
        while True:
            stranger.sendall(request * at_once)
            time.sleep(0.002)
    pages = int(memory.read_text().split()[1]) - before
    assert pages * 4096 < 64 << 20
    assert site.get("/pool.css").status == 200


@pytest.mark.parametrize(
    "code", ["", "?code=", "?code=" + 43 * "A", "?code=%00%FF", "?code=a&code=b"]
)
def test_other_codes_open_nothing(code: str, site: Site) -> None:
    answer = site.get(f"/login{code}")
    assert answer.status == 401
    assert "set-cookie" not in answer.headers


def test_a_stolen_link_that_is_used_twice_ends_its_session(site: Site) -> None:
    link = site.link("ada")
    answer = site.get(link)
    cookie = answer.headers["set-cookie"].partition(";")[0]
    other = site.log_in("ada")
    assert site.get("/", cookie).status == 200
    for _ in range(2):
        again = site.get(link)
        assert again.status == 401
        assert "set-cookie" not in again.headers
    assert site.get("/", cookie).status == 401
    assert site.get("/", other).status == 200
    assert "used twice" in (site.manager.folder / "log").read_text()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/devices"), ("GET", "/v1/leases"), ("GET", "/v1/events"), ("GET", "/metrics"),
        ("GET", "/healthz"), ("GET", "/openapi.json"), ("PUT", "/v1/leases/x"),
        ("DELETE", "/v1/leases/x"), ("POST", "/v1/renew"), ("POST", "/v1/page-links"),
        ("PUT", "/v1/daemons/n1"), ("POST", "/v1/daemons/n1/drain"), ("GET", "/v1/backup"),
    ],
)  # fmt: skip
def test_a_session_reads_the_page_and_nothing_else(method: str, path: str, site: Site) -> None:
    for cookie in ("", site.log_in("root")):
        answer = site.get(path, cookie, method, "{}")
        assert answer.status == 401, answer.text
        assert "no-certificate" in answer.text
    assert site.get("/", site.log_in("root"), "POST").status == 405


def test_a_session_sees_what_its_user_may_see(site: Site) -> None:
    with running(site.client("n1"), "n1"):
        held = site.client("ada").ask("PUT", "/v1/leases/secret-name", {"wait_s": 5}, wait_s=5)
        assert held["state"] == "held"
        assert "secret-name" in site.get("/", site.log_in("ada")).text
        assert "secret-name" in site.get("/", site.log_in("root")).text  # an administrator
        assert "secret-name" not in site.get("/", site.log_in("bob")).text
        site.client("ada").ask("DELETE", "/v1/leases/secret-name")


def test_a_session_is_good_at_no_other_address(site: Site) -> None:
    """The others ask for a certificate in the handshake."""
    other = site._replace(page=site.manager.url.removeprefix("https://"))
    with pytest.raises((ssl.SSLError, ConnectionError)):
        other.get("/", site.log_in("root"))


def test_a_daemon_gets_no_link(site: Site) -> None:
    with pytest.raises(PoolError) as refused:
        site.client("n1").ask("POST", "/v1/page-links")
    assert refused.value.name == "not-yours"


def test_two_managers_of_a_host_have_their_own_sessions(site: Site, tmp_path: Path) -> None:
    """Browsers send cookies to all ports of a host."""
    keys = make_keys(tmp_path / "keys")
    with serving(tmp_path / "m", keys) as other:
        cookies = "; ".join([site.log_in("ada"), other.log_in("ada")])
        assert site.get("/", cookies).status == other.get("/", cookies).status == 200


def test_a_link_names_the_outer_address(tmp_path: Path) -> None:
    keys = make_keys(tmp_path / "keys")
    with serving(tmp_path / "m", keys, "--page-url", "https://pool.example/") as site:
        url = site.client("ada").ask("POST", "/v1/page-links")["url"]
        path = str(url).removeprefix("https://pool.example")
        assert path.startswith("/login?code=")
        answer = site.get(path)
        assert answer.status == 303
        cookie = answer.headers["set-cookie"].partition(";")[0]
        assert site.get("/", cookie).status == 200


def test_the_command(site: Site, tmp_path: Path, outboard: Outboard) -> None:
    done = outboard("pool", "page", "--pool", site.manager.url, "--key", str(site.keys["ada"]))
    assert done.returncode == 0, done.stderr
    assert site.get(done.stdout.strip().removeprefix(f"https://{site.page}")).status == 303
    plain = Manager(tmp_path / "plain")
    assert outboard("pool", "page", "--pool", plain.url).stdout == f"{plain.url}/\n"
    both = f"http://127.0.0.1:9,{plain.url}"  # nobody answers at the first
    assert outboard("pool", "page", "--pool", both).stdout == f"{plain.url}/\n"
    refused = outboard("pool", "page", "--pool", f"unix:{tmp_path}/plain/s")
    assert refused.returncode != 0
    assert "--page ADDRESS" in refused.stderr
    assert plain.stop() == 0
    for words, why in (
        (("--page", "127.0.0.1:0"), "--page is for managers with a key"),
        (("--page", "unix:/tmp/x"), "--page is for browsers in the network"),
        (("--page-url", "https://x"), "--page-url names the address of --page"),
        (("--page", "127.0.0.1:0", "--page-url", "http://x"), "--page-url is https://HOST"),
        *(
            (("--page", "127.0.0.1:0", "--page-url", f"https://{rest}"), "--page-url is https://")
            for rest in ("x/y", "x:y", "x?", "x#", "a b", "u@x", "")
        ),
    ):
        done = outboard("pool", "serve", "--listen", "127.0.0.1:0", "--state", "memory:", *words)
        assert done.returncode != 0
        assert why in done.stderr


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def peer(holder: str, *roles: Role) -> Peer:
    return Peer(holder, holder, frozenset(roles), "", False)


def code_of(link: str) -> str:
    return link.partition("code=")[2]


def test_links_and_sessions_end() -> None:
    clock = Clock()
    logins = Logins("https://x", clock)
    late, good = (code_of(logins.link(peer("ada", Role.USER))) for _ in range(2))
    clock.now += LINK_S - 1
    secret = logins.begin(good)
    assert secret is not None
    clock.now += 1
    assert logins.begin(late) is None
    clock.now += SESSION_S - 2
    assert logins.reader(secret) == peer("ada")
    clock.now += 1
    assert logins.reader(secret) is None


def test_a_second_use_ends_the_session_also_later() -> None:
    clock = Clock()
    logins = Logins("https://x", clock)
    code = code_of(logins.link(peer("ada")))
    secret = logins.begin(code)
    assert secret is not None
    clock.now += SESSION_S / 2
    assert logins.reader(secret) is not None
    assert logins.begin(code) is None
    assert logins.reader(secret) is None


def test_a_reader_has_no_role_that_changes_anything() -> None:
    logins = Logins("https://x")
    for roles, left in (
        (Role, {Role.MONITOR}), ([Role.ADMIN], {Role.MONITOR}), ([Role.MONITOR], {Role.MONITOR}),
        ([Role.USER, Role.BATCH], set()),
    ):  # fmt: skip
        secret = logins.begin(code_of(logins.link(peer("root", *roles))))
        assert secret is not None
        reader = logins.reader(secret)
        assert reader is not None
        assert reader.roles == left


def test_many_links_of_one_user_leave_those_of_others() -> None:
    logins = Logins("https://x")
    mine = logins.begin(code_of(logins.link(peer("ada"))))
    assert mine is not None
    secrets = [logins.begin(code_of(logins.link(peer("eve")))) for _ in range(100)]
    assert logins.reader(mine) == peer("ada")
    assert sum(logins.reader(secret or "") is not None for secret in secrets) == 16
    assert logins.reader(secrets[-1] or "") == peer("eve")
    assert len(logins._links) == 17
