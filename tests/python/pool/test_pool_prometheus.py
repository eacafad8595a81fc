"""Rules, alerts and the dashboard of deploy/: parsed by promtool, and asked of a real manager.

A real Prometheus scrapes a real manager over TLS, with a real daemon and jobs. Each metric that a
rule or a panel names must be there, and each rule and panel must be evaluated.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from free_ports import free_ports
from pool_daemon import PATIENCE_S, Daemon, Worker, until
from pool_server import Manager, make_keys

from conftest import ROOT
from outboard import paths

DEPLOY = ROOT / "deploy"
PROMETHEUS = DEPLOY / "prometheus"
RULES = ("rules.yml", "alerts.yml")
CASES = Path(__file__).parent / "prometheus_rules_test.yml"
DASHBOARD = json.loads((DEPLOY / "grafana" / "outboard.json").read_text())
FAULTS = ("OutboardDeviceDown", "OutboardManagerDown")
NAME = re.compile(r"\b(?:outboard|process)_\w+")

pytestmark = pytest.mark.needs("promtool", "prometheus", package="prometheus")


def promtool(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["promtool", *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DASHBOARD["panels"]
    return found


def expressions() -> list[tuple[str, str]]:
    """Returns title and expression of each panel's targets, and of annotations, without the
    dashboard's variables."""
    rows = [(p["title"], t["expr"]) for p in panels() for t in p.get("targets", ())]
    rows += [(a["name"], a["expr"]) for a in DASHBOARD["annotations"]["list"]]
    meant = (("$__rate_interval", "5m"), ("$__interval", "5m"), ("$job", "outboard-pool"),
             ("$device", ".*"))  # fmt: skip
    plain = []
    for title, expr in rows:
        for variable, value in meant:
            expr = expr.replace(variable, value)
        assert "$" not in expr, f"{title}: an unknown variable in {expr}"
        plain.append((title, expr))
    return plain


def test_rules_and_the_example_are_well_formed() -> None:
    done = promtool("check", "rules", "--lint-fatal", *(str(PROMETHEUS / name) for name in RULES))
    assert done.returncode == 0, done.stdout + done.stderr
    done = promtool("check", "config", "--syntax-only", str(PROMETHEUS / "prometheus.yml"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_fires_and_does_not_fire() -> None:
    done = promtool("test", "rules", str(CASES))
    assert done.returncode == 0, done.stdout + done.stderr
    cases = CASES.read_text()
    for alert in re.findall(r"alert: (\w+)", (PROMETHEUS / "alerts.yml").read_text()):
        blocks = re.findall(rf"alertname: {alert}\n.*\n\s+exp_alerts:(.*)\n", cases)
        assert "" in blocks, f"no series make {alert} fire"
        assert " []" in blocks, f"no series keep {alert} silent"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("== 0 and outboard_device_open == 1", "== 0"),
        ("< 0.75", "< 0.25"),
        ("for: 10m", "for: 1m"),
        ("> 0.5 * sum", "> 0.9 * sum"),
        ("max by (job) (up", "min by (job) (up"),
        ("and on (job) max by (job) (up", "or on (job) max by (job) (up"),
        ("and on (job, instance) outboard_pool_leader == 1", ""),
        ("sum by (job) (outboard_pool_leader", "max by (job) (outboard_pool_leader"),
    ],
)
def test_the_cases_notice_a_wrong_alert(before: str, after: str, tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text((PROMETHEUS / "rules.yml").read_text())
    alerts = (PROMETHEUS / "alerts.yml").read_text()
    assert before in alerts
    (tmp_path / "alerts.yml").write_text(alerts.replace(before, after))
    (tmp_path / "cases.yml").write_text(
        CASES.read_text().replace("../../../deploy/prometheus/", "")
    )
    assert promtool("test", "rules", str(tmp_path / "cases.yml")).returncode != 0


def test_each_alert_is_explained() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    for alert in re.findall(r"alert: (\w+)", (PROMETHEUS / "alerts.yml").read_text()):
        assert f"| `{alert}` |" in page


def test_the_expressions_of_the_dashboard_parse(tmp_path: Path) -> None:
    file = tmp_path / "dashboard.yml"
    rules = [{"record": f"r:{n}", "expr": expr} for n, (_, expr) in enumerate(expressions())]
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = promtool("check", "rules", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"SUCCESS: {len(rules)} rules found" in done.stdout
    file.write_text(file.read_text().replace("histogram_quantile(", "histogram_quantile((", 1))
    assert promtool("check", "rules", str(file)).returncode != 0


def test_the_dashboard_is_complete_for_grafana() -> None:
    ids = [panel["id"] for panel in panels()]
    assert len(ids) == len(set(ids))
    (source,) = (v for v in DASHBOARD["templating"]["list"] if v["type"] == "datasource")
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, f"{panel['title']} lies over another panel"
        taken |= cells
        if panel["type"] == "row":
            continue
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["datasource"]["uid"] == f"${{{source['name']}}}"
        refs = [target["refId"] for target in panel["targets"]]
        assert refs
        assert len(refs) == len(set(refs))
        for target in panel["targets"]:
            assert target["datasource"] == panel["datasource"]


class Site(NamedTuple):
    """A pool that computes, and a Prometheus that has scraped manager and daemon."""

    manager: Manager
    daemon: Daemon
    url: str

    def ask(self, path: str, **query: str) -> Any:
        words = urllib.parse.urlencode(query)
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{words}", timeout=10) as answer:
            return json.load(answer)["data"]

    def rules(self) -> list[Any]:
        """Returns all rules, as Prometheus has read them."""
        return [rule for group in self.ask("rules")["groups"] for rule in group["rules"]]

    def value(self, expr: str) -> Any:
        return self.ask("query", query=expr)["result"]

    def number(self, expr: str) -> float:
        """Returns the value of an expression that has one."""
        (row,) = self.value(expr)
        return float(row["value"][1])

    def firing(self, alert: str) -> Any:
        """Returns the labels and texts of an alert that fires, or nothing."""
        rows = [row for row in self.ask("alerts")["alerts"] if row["state"] == "firing"]
        return next((row for row in rows if row["labels"]["alertname"] == alert), None)


def impatient(alerts: str) -> str:
    """Lets the alerts that a test causes fire after a second."""
    for name in FAULTS:
        alerts, count = re.subn(rf"(alert: {name}\n(?:.*\n)*?\s+for:) \w+", r"\1 1s", alerts)
        assert count == 1
    return alerts


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, native: paths.Native) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("prometheus")
    made = make_keys(folder / "keys")
    manager = Manager(folder / "m", "", made["m1"])
    port, metrics_port = free_ports(2)
    metrics = f"127.0.0.1:{metrics_port}"
    daemon = Daemon(
        native, "n1", "--pool", manager.url, "--key", str(made["n1"]), "--metrics", metrics
    )
    daemon.wait_until_free(manager.local())
    ada = manager.client(made["ada"])
    for name in ("one", "two"):
        body = {"ttl_s": 60, "wait_s": 20}
        assert ada.ask("PUT", f"/v1/leases/{name}", body, wait_s=20)["state"] == "held"
        ada.ask("DELETE", f"/v1/leases/{name}")
        daemon.wait_until_free(manager.local())
    ada.ask("PUT", "/v1/leases/held", {"ttl_s": 60, "wait_s": 20}, wait_s=20)
    ada.ask("PUT", "/v1/leases/waits", {"ttl_s": 60})
    worker = Worker(
        native, folder / "w", OUTBOARD_POOL=manager.url, OUTBOARD_LEASE="held",
        OUTBOARD_KEY=str(made["ada"]),
    )  # fmt: skip
    worker.expect_remote()

    # The shipped example, with this pool's address, files and a short interval.
    config = (PROMETHEUS / "prometheus.yml").read_text()
    for shown, here in (
        ("/etc/prometheus/outboard", str(made["bob"])),
        ("pool.example.org:7780", manager.url.removeprefix("https://")),
        ("127.0.0.1:9464", metrics),
        ("15s", "1s"),
        ("  - rules.yml", f"  - {PROMETHEUS}/rules.yml"),
    ):
        assert shown in config
        config = config.replace(shown, here)
    (folder / "prometheus.yml").write_text(config)
    (folder / "alerts.yml").write_text(impatient((PROMETHEUS / "alerts.yml").read_text()))
    with open(folder / "prometheus.log", "wb") as log:
        process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml",
             f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}"],
            stdout=log, stderr=log,
        )  # fmt: skip
    found = Site(manager, daemon, f"http://127.0.0.1:{port}")

    def scraped() -> bool:
        try:
            # Rates need two scrapes.
            jobs = found.value("count_over_time(up[1m]) >= 3 and up == 1")
            return len(jobs) == 2
        except OSError:
            return False

    until(scraped, f"Prometheus scrapes both; {(folder / 'prometheus.log').read_text()}")
    yield found
    process.terminate()
    process.wait(PATIENCE_S)
    assert worker.finish() > 0  # it checks each product
    daemon.stop()
    assert manager.stop() == 0


@pytest.mark.end_to_end
def test_each_metric_exists(site: Site) -> None:
    rules = site.rules()
    text = "".join((PROMETHEUS / name).read_text() for name in RULES)
    assert len(rules) == len(re.findall(r"- (?:alert|record): ", text))
    exprs = [expr for _, expr in expressions()] + [rule["query"] for rule in rules]
    recorded = {rule["name"] for rule in rules if rule["type"] == "recording"}
    named = {name for expr in exprs for name in NAME.findall(re.sub(r"\bjob\w*:[\w:]+", "", expr))}
    assert len(named) >= 15
    names = set(site.ask("label/__name__/values"))
    assert named <= names
    until(lambda: recorded <= set(site.ask("label/__name__/values")), f"{recorded} are recorded")


@pytest.mark.end_to_end
def test_each_panel_shows_something(site: Site) -> None:
    # Nothing is wrong in this pool, and the manager started once.
    empty = {"Devices that are not up", "Starts of the manager"}
    for title, expr in expressions():
        rows = site.value(expr.replace("[5m]", "[1m]"))
        assert bool(rows) == (title not in empty), f"{title}: {expr}"
    (held,) = site.value('sum(outboard_pool_devices{state=~"exclusive|shared"})')
    assert held["value"][1] == "1"
    (waits,) = site.value('outboard_pool_queue_length{kind="any"}')
    assert waits["value"][1] == "1"
    (grants,) = site.value("outboard_pool_grants_total")
    assert grants["value"][1] == "3"
    (count,) = site.value("sum(outboard_pool_wait_seconds_count)")
    assert count["value"][1] == "3"
    (ends,) = site.value('outboard_pool_lease_ends_total{reason="released"}')
    assert ends["value"][1] == "2"


@pytest.mark.end_to_end
def test_a_healthy_pool_raises_no_alert(site: Site) -> None:
    time.sleep(1.5)  # an evaluation of the rules
    assert site.ask("alerts")["alerts"] == []
    for rule in site.rules():
        assert rule["health"] == "ok", rule


@pytest.mark.end_to_end
def test_a_daemon_that_computes_counts(site: Site) -> None:
    for expr in (
        "sum(rate(outboard_daemon_computations_total[1m]))",
        "sum(rate(outboard_daemon_received_bytes_total[1m]))",
        "sum(rate(outboard_daemon_sent_bytes_total[1m]))",
        'sum(rate(outboard_daemon_commands_total{command="call"}[1m]))',
        "sum(outboard_daemon_compute_seconds_total)",
    ):
        until(lambda expr=expr: site.value(f"{expr} > 0"), f"{expr} is above 0")
    assert site.number("sum(outboard_daemon_sessions)") == 1
    limit = site.number("outboard_daemon_memory_limit_bytes")
    assert limit == 64 << 20
    assert 0 < site.number("outboard_daemon_memory_used_bytes") <= limit
    assert site.number("sum(outboard_daemon_refusals_total) or vector(0)") == 0
    # The manager says the same of the device.
    assert site.number('outboard_device_up{device="n1/0"}') == 1
    until(lambda: site.value("max_over_time(outboard_device_busy_ratio[1m]) > 0"), "it is busy")
    assert 0 < site.number("max_over_time(outboard_device_memory_used_bytes[1m])") <= limit


@pytest.mark.end_to_end
def test_a_killed_daemon_raises_an_alert(site: Site) -> None:
    site.daemon.stop(signal.SIGKILL)
    try:
        until(lambda: site.value('up{job="outboard-daemon"} == 0'), "the daemon's scrape fails")
        alert = until(lambda: site.firing("OutboardDeviceDown"), "the alert fires")
        assert alert["labels"]["device"] == "n1/0"
        assert alert["labels"]["severity"] == "warning"
        assert alert["annotations"]["summary"] == "Device n1/0 cannot be used"
        assert not site.firing("OutboardManagerDown")
    finally:
        site.daemon.start()
    until(lambda: not site.firing("OutboardDeviceDown"), "the alert ends when the daemon is back")
    assert site.number('outboard_device_up{device="n1/0"}') == 1


@pytest.mark.end_to_end
def test_a_killed_manager_raises_an_alert(site: Site) -> None:
    site.manager.kill()
    try:
        alert = until(lambda: site.firing("OutboardManagerDown"), "the alert fires")
        assert alert["labels"]["severity"] == "critical"
    finally:
        site.manager.start()
    until(lambda: not site.firing("OutboardManagerDown"), "the alert ends when it is back")
