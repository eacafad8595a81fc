"""The table of the interface: verbs, paths, who may use them, and the bodies. The description in
OpenAPI comes from it."""

from __future__ import annotations

from outboard.pool.core.records import Quota, Reservation
from outboard.pool.serve import acting, answers, bodies, daemons, leases, public, reading
from outboard.pool.serve.exchange import Browsers, Param, Route
from outboard.pool.serve.settings import Role

_LEASE = answers.LeaseAnswer
_PAGE = (
    Param("after", {"type": "string", "maxLength": 128}, "The field `next` of the page before."),
    Param("limit", {"type": "integer", "minimum": 1, "maximum": reading.PAGE}, "Most rows."),
)


def _wait(most: int = 30) -> Param:
    schema = {"type": "number", "minimum": 0, "maximum": most}
    return Param("wait_s", schema, "Answer later, when something has changed.")


_HELD = (
    _wait(),
    Param("uid", {"type": "integer", "minimum": -1, "maximum": (1 << 32) - 2}, "Narrows tokens."),
    Param("rank", {"type": "integer", "minimum": -1, "maximum": 1 << 24}, "Of a job's process."),
    Param("per_rank", {"type": "integer", "minimum": 0, "maximum": 1 << 10}, "Devices of a rank."),
)
_SINCE = {"type": "integer", "minimum": 0, "maximum": bodies.MOST}
_LOST = ("unknown", "lease-over")

ROUTES = (
    Route(
        "PUT", "/v1/leases/{id}", leases.put, Role.USER,
        "Acquire devices. A repeated request has the effect of one.",
        {200: _LEASE, 202: _LEASE}, bodies.LeaseBody,
        problems=("unknown", "other-body", "can-never-fit", "lease-over", "banned",
                  "too-many-waiting"),
    ),
    Route(
        "GET", "/v1/leases/{id}", leases.get, Role.USER,
        "A lease with fresh tokens; it keeps a place in the queue.",
        {200: _LEASE, 202: _LEASE}, params=_HELD, problems=(*_LOST, "too-many-waiting"),
    ),
    Route(
        "DELETE", "/v1/leases/{id}", leases.release, Role.USER, "Give the devices back.",
        {202: None, 204: None}, problems=("unknown",),
        params=(Param("early", {"type": "string"}, "1: answer 202 before the release is stored."),),
    ),
    Route(
        "GET", "/v1/leases", reading.leases, None, "The own leases; all for administrators.",
        {200: answers.Leases},
        params=(*_PAGE, Param("over", {"type": "string"}, "1: also those that are over.")),
    ),
    Route(
        "POST", "/v1/leases/{id}/handles", leases.grow, Role.USER, "More devices for a lease.",
        {200: _LEASE}, bodies.GrowBody,
        problems=(*_LOST, "not-held", "can-never-fit", "banned", "too-many-waiting"),
    ),
    Route(
        "DELETE", "/v1/leases/{id}/handles/{device}", leases.shrink, Role.USER,
        "Give one device back.", {204: None}, problems=(*_LOST, "not-held"),
    ),
    Route(
        "POST", "/v1/renew", leases.renew, Role.USER, "Renew leases of one holder.",
        {200: answers.RenewalAnswer}, bodies.RenewBody,
    ),
    Route(
        "PUT", "/v1/daemons/{name}", daemons.register, Role.DAEMON, "Register a daemon.",
        {200: answers.Registered}, bodies.DaemonBody,
        problems=("other-instance", "other-daemon"),
    ),
    Route(
        "POST", "/v1/daemons/{name}/heartbeat", daemons.heartbeat, Role.DAEMON,
        "Report, and get the whole desired state when it changes.",
        {200: answers.DesiredAnswer}, bodies.HeartbeatBody,
        problems=("not-registered", "other-instance"),
    ),
    Route(
        "DELETE", "/v1/daemons/{name}", daemons.deregister, Role.DAEMON, "The daemon stops.",
        {204: None},
        params=(Param("instance", {"type": "string", "maxLength": 64}, "The one that stops."),),
    ),
    Route(
        "POST", "/v1/daemons/{name}/cordon", acting.cordon, Role.ADMIN,
        "No new grants on a daemon's devices.", {200: answers.Changed}, problems=("unknown",),
    ),
    Route(
        "POST", "/v1/daemons/{name}/uncordon", acting.uncordon, Role.ADMIN,
        "Grants on a daemon's devices again.", {200: answers.Changed}, problems=("unknown",),
    ),
    Route(
        "POST", "/v1/daemons/{name}/drain", acting.drain, Role.ADMIN,
        "No new grants on a daemon's devices, and notice for their holders.",
        {200: answers.Changed}, bodies.DrainBody, problems=("unknown",),
    ),
    Route(
        "GET", "/v1/devices", reading.devices, None, "All devices.", {200: answers.Devices},
        params=_PAGE,
    ),
    Route(
        "GET", "/v1/devices/{device}", reading.device, None, "One device.",
        {200: answers.DeviceRow}, problems=("unknown",),
    ),
    Route(
        "PATCH", "/v1/devices/{device}", acting.change_device, Role.ADMIN,
        "Change the admin state of a device, or clear it.", {200: answers.Changed},
        bodies.DeviceChange, problems=("unknown", "retired"),
    ),
    Route("GET", "/v1/queue", reading.queue, None, "Waiting requests.", {200: answers.Queue}),
    Route("GET", "/v1/quotas", reading.quotas, None, "Limits.", {200: answers.Quotas}),
    Route(
        "PUT", "/v1/quotas/{name}", acting.set_quota, Role.ADMIN,
        "Set the limits of user:NAME or group:NAME.", {200: Quota}, bodies.QuotaBody,
    ),
    Route(
        "GET", "/v1/reservations", reading.reservations, None, "Reservations.",
        {200: answers.Reservations},
    ),
    Route(
        "PUT", "/v1/reservations/{id}", acting.set_reservation, Role.ADMIN,
        "Keep devices for users during a window of time.", {200: Reservation},
        bodies.ReservationBody,
    ),
    Route(
        "DELETE", "/v1/reservations/{id}", acting.delete_reservation, Role.ADMIN,
        "End a reservation.", {204: None},
    ),
    Route("GET", "/v1/bans", reading.bans, None, "Banned users.", {200: answers.Bans}),
    Route(
        "PUT", "/v1/bans/{name}", acting.ban, Role.ADMIN,
        "End all leases of a user, who gets no others.", {200: answers.Changed}, bodies.BanBody,
    ),
    Route("DELETE", "/v1/bans/{name}", acting.unban, Role.ADMIN, "End a ban.", {204: None}),
    Route(
        "GET", "/v1/usage", reading.usage, None, "Device-seconds that were held.",
        {200: answers.Usage},
        params=(
            Param("by", {"enum": ["user", "group", "job", "lease"]}, "What is summed."),
            Param("since_ms", _SINCE, "From this pool time."),
            Param("format", {"enum": ["json", "csv"]}, "The form."),
        ),
        also="text/csv",
    ),
    Route(
        "GET", "/v1/audit", reading.audit, None, "Acts on record; the own ones for users.",
        {200: answers.AuditPage},
        params=(Param("after", _SINCE, "Revisions above this one."), _PAGE[1], _wait()),
        problems=("too-many-waiting",),
    ),
    Route(
        "GET", "/v1/backup", acting.backup, Role.ADMIN, "A copy of the store.", {200: bytes},
        problems=("storage",), type="application/vnd.sqlite3",
    ),
    Route(
        "GET", "/v1/events", reading.events, None, "Server-sent events, one for a commit.",
        {200: str}, type="text/event-stream",
    ),
    Route(
        "GET", "/healthz", public.healthz, None, "The process runs.", {200: answers.Alive},
        standby=public.standby_healthz,
    ),
    Route(
        "GET", "/readyz", public.readyz, None, "The manager grants.", {200: answers.Alive},
        problems=("starting",),
    ),
    Route(
        "GET", "/metrics", public.metrics, None, "Metrics for Prometheus.", {200: str},
        type="text/plain", standby=public.standby_metrics,
    ),
    Route("GET", "/openapi.json", public.openapi, None, "This description.", {200: dict}),
    Route(
        "GET", "/", public.page, None, "The pool as a page.", {200: str},
        params=(
            Param("refresh", {"type": "integer", "minimum": 0, "maximum": 3600},
                  "Seconds after which it is brought up to date; 0: never."),
        ),
        problems=("no-certificate",), type="text/html", browsers=Browsers.LOGGED_IN,
    ),
    Route("GET", "/pool.css", public.style, None, "The page's style.", {200: str},
          type="text/css", browsers=Browsers.ALL),
    Route("GET", "/pool.js", public.script, None, "The page's script, which keeps it up to date.",
          {200: str}, type="text/javascript", browsers=Browsers.ALL),
    Route(
        "POST", "/v1/page-links", public.link, Role.USER,
        "A link to the page that works once, for a browser without a certificate.",
        {200: answers.PageLink}, problems=("unknown",),
    ),
    Route(
        "GET", "/login", public.login, None, "Such a link: begins a session, and goes to the page.",
        {303: None}, params=(Param("code", {"type": "string", "maxLength": 128}, "Of the link."),),
        problems=("no-certificate",), browsers=Browsers.ALL, has_head=False,
    ),
)  # fmt: skip
