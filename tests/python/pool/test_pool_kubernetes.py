"""The manifests for Kubernetes: their form, by the schemas of four versions, and the commands of
their containers, run on this machine. No cluster runs them."""

from __future__ import annotations

import atexit
import copy
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from free_ports import free_ports
from pool_daemon import PATIENCE_S, until
from pool_server import make_keys

from conftest import ROOT
from needs import needs
from outboard import keys, members, paths
from outboard.pool.client import PoolClient

FOLDER = ROOT / "deploy" / "kubernetes"
VERSIONS = ("1.34", "1.35", "1.36", "1.37")
KINDS = {"Namespace", "Service", "StatefulSet", "DaemonSet", "PodDisruptionBudget"}
KINDS |= {"NetworkPolicy", "Job"}


def documents(*files: Path) -> list[dict[str, Any]]:
    return [one for file in files for one in yaml.safe_load_all(file.read_text())]


def objects() -> list[dict[str, Any]]:
    files = []
    for folder in ("base", "examples"):
        (kustomization,) = documents(FOLDER / folder / "kustomization.yaml")
        files += [FOLDER / folder / name for name in kustomization["resources"]]
    return documents(*files)


def pods() -> list[dict[str, Any]]:
    """Returns the pod templates, with the name of their object."""
    found = []
    for one in objects():
        if "template" in one.get("spec", {}):
            found.append({"name": one["metadata"]["name"], **one["spec"]["template"]})
    return found


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_schemas_take_all_objects(version: str) -> None:
    found = objects()
    assert {one["kind"] for one in found} == KINDS
    for one in found:
        kubernetes_validate.validate(one, version, strict=True)


def test_the_schemas_refuse_a_misspelled_field() -> None:
    pod = next(one for one in objects() if one["kind"] == "StatefulSet")
    wrong = copy.deepcopy(pod)
    context = wrong["spec"]["template"]["spec"]["containers"][0]["securityContext"]
    context["readOnlyRootFileSystem"] = context.pop("readOnlyRootFilesystem")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)


@pytest.mark.needs("kubectl")  # that of Debian 12 is too old for these manifests
@pytest.mark.parametrize("folder", ["base", "cpu", "examples"])
def test_kustomize_builds_them(folder: str) -> None:
    done = subprocess.run(
        ["kubectl", "kustomize", str(FOLDER / folder)], capture_output=True, text=True, check=True
    )
    built = list(yaml.safe_load_all(done.stdout))
    assert {one["kind"] for one in built} <= KINDS | {"ConfigMap"}
    for one in built:
        kubernetes_validate.validate(one, VERSIONS[-1], strict=True)
        images = re.findall(r"'image': '([^']*)'", str(one))
        assert set(images) <= {"registry.example.org/outboard:1"}
        if one["kind"] == "DaemonSet":
            # The overlay for cores asks for no accelerator of Kubernetes.
            assert ("nvidia" in str(one)) == (folder == "base")


def test_the_pods_keep_to_the_restricted_standard() -> None:
    assert len(pods()) == 4
    for pod in pods():
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        for name in ("runAsUser", "runAsGroup", "fsGroup"):
            assert spec["securityContext"][name] == USER
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        assert spec["enableServiceLinks"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
        assert all(set(one) & {"secret", "configMap", "emptyDir"} for one in spec["volumes"])
        for one in containers(pod):
            assert one["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert one["resources"]["limits"]["memory"]


def test_names_in_the_manifests_exist() -> None:
    ports = {p["name"] for pod in pods() for c in containers(pod) for p in c.get("ports", [])}
    labels = [pod["metadata"]["labels"] for pod in pods() if "metadata" in pod]
    for one in objects():
        spec = one.get("spec", {})
        if one["kind"] == "Service":
            assert spec["selector"] in labels
            assert {port["targetPort"] for port in spec["ports"]} <= ports
        if one["kind"] == "PodDisruptionBudget":
            assert spec["selector"]["matchLabels"] in labels
        if one["kind"] == "NetworkPolicy" and spec["podSelector"]:
            assert spec["podSelector"]["matchLabels"] in labels
            rules = [*spec["ingress"], *spec.get("egress", [])]
            assert {p["port"] for rule in rules for p in rule["ports"]} <= ports | {53}
    for pod in pods():
        claimed = {"state"} if pod["name"] == "outboard-manager" else set()
        volumes = {volume["name"] for volume in pod["spec"]["volumes"]} | claimed
        for one in containers(pod):
            assert {mount["name"] for mount in one.get("volumeMounts", [])} <= volumes


USER = 10001
# Does for a command what the security context of its container does: an ordinary user, no
# capabilities, no new privileges, and a root file system that only its volumes can be written in.
# The first words: a folder that hides Python from users, where Python is, and where it is kept; and
# what /tmp is, if it is a volume.
_CONFINE = f"""
set -e
if [ "$1" ]; then
  mount --bind "$2" "$3"; mount -t tmpfs -o mode=755 none "$1"
  mkdir -p "$2"; mount --bind "$3" "$2"
fi
shift 3
[ -z "$1" ] || mount --bind "$1" /tmp; shift
while [ "$1" != -- ]; do mount --bind "$1" "$1"; shift; done; shift
mount -o remount,bind,ro /
exec setpriv --reuid={USER} --regid={USER} --groups={USER} --no-new-privs --bounding-set=-all \\
  --inh-caps=-all -- "$@"
"""


class Machine:
    """Runs containers, with paths and addresses of this machine in place of those of a pod."""

    def __init__(self, folder: Path, native: paths.Native) -> None:
        self.folder = folder
        folder.chmod(0o755)
        (folder / "python").mkdir()
        # The interpreter of the tests may lie where only root finds it, as in root's home.
        home = Path(sys.base_prefix)
        hidden = [one for one in reversed(home.parents) if not one.stat().st_mode & 0o001]
        self.python = [str(hidden[0]) if hidden else "", str(home), str(folder / "python")]
        self.ports = dict(zip(("7780", "7770"), map(str, free_ports(2)), strict=True))
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("OUTBOARD_")},
            "PATH": f"{folder}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": f"{ROOT}/python", "OUTBOARD_NATIVE_DIR": str(native.root),
        }  # fmt: skip
        (folder / "bin").mkdir()
        launcher = folder / "bin" / "outboard"
        launcher.write_text(f'#!/bin/sh\nexec {sys.executable} -m outboard "$@"\n')
        launcher.chmod(0o755)
        self.processes: list[subprocess.Popen[str]] = []

    def volume(self, pod: str, name: str) -> Path:
        """With the group of `fsGroup`."""
        path = self.folder / pod / name
        if not path.exists():
            path.mkdir(parents=True)
            os.chown(path, 0, USER)
            path.chmod(0o2775)
        return path

    def secret(self, pod: str, files: dict[str, Path]) -> None:
        """As the kubelet lays it out: links to files in a hidden folder, which links to another."""
        volume = self.volume(pod, "secret")
        (volume / "..1").mkdir()
        (volume / "..data").symlink_to("..1")
        for name, file in files.items():
            self.add_to_secret(pod, name, file)

    def add_to_secret(self, pod: str, name: str, file: Path) -> None:
        volume = self.volume(pod, "secret")
        shutil.copy(file, volume / "..1" / name)
        os.chown(volume / "..1" / name, 0, USER)
        (volume / "..1" / name).chmod(0o440)
        (volume / name).symlink_to(f"..data/{name}")

    def start(self, pod: dict[str, Any], container: dict[str, Any]) -> subprocess.Popen[str]:
        return self.run(pod, container, [*container["command"], *container.get("args", [])])

    def run(
        self, pod: dict[str, Any], container: dict[str, Any], command: list[str]
    ) -> subprocess.Popen[str]:
        mounts = {
            mount["mountPath"]: self.volume(pod["name"], mount["name"])
            for mount in container["volumeMounts"]
        }
        temporary = str(mounts.pop("/tmp", ""))
        facts = {"NODE_NAME": "n1", "POD_IP": "127.0.0.1"}
        variables = {
            one["name"]: self._here(one["value"], mounts) if "value" in one else facts[one["name"]]
            for one in container.get("env", [])
        }
        words = []
        for word in command:
            expanded = re.sub(r"\$\((\w+)\)", lambda found: variables[found[1]], word)
            words.append(self._here(expanded, mounts))
        writable = [
            str(mounts[mount["mountPath"]])
            for mount in container["volumeMounts"]
            if not mount.get("readOnly") and mount["mountPath"] in mounts
        ]
        confined = ["unshare", "-m", "sh", "-c", _CONFINE, "confine", *self.python, temporary]
        process = subprocess.Popen(
            [*confined, *writable, "--", *words],
            env=self.environment | variables,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        atexit.register(process.kill)  # also after a test that fails
        self.processes.append(process)
        return process

    def _here(self, text: str, mounts: dict[str, Path]) -> str:
        text = text.replace("outboard-manager.outboard.svc", "127.0.0.1")
        text = text.replace("0.0.0.0", "127.0.0.1")
        for port, here in self.ports.items():
            text = text.replace(f":{port}", f":{here}")
        either = "|".join(sorted(mounts, key=len, reverse=True))
        return re.sub(
            rf"(?<![\w/.-])(?:{either})(?![\w-])", lambda found: str(mounts[found[0]]), text
        )


def _finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    said, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said


@pytest.fixture
def machine(native: paths.Native) -> Iterator[Machine]:
    needs("unshare", "setpriv", "mount", package="util-linux", root=True)
    if native.root.is_relative_to("/tmp") or ROOT.is_relative_to("/tmp"):
        pytest.skip("each pod has a /tmp of its own, which would hide this tree")
    with tempfile.TemporaryDirectory(prefix="outboard-", dir="/var/tmp") as folder:
        made = Machine(Path(folder), native)
        yield made
        for process in made.processes:
            if process.poll() is None:
                process.kill()
                process.wait()


def run_job(machine: Machine, job: dict[str, Any]) -> None:
    """Its program is right, and that of the job with accelerators has computed on one."""
    shutil.copy(FOLDER / "examples" / "products.py", machine.volume(job["name"], "program"))
    (copying,) = job["spec"]["initContainers"]
    assert _finish(machine.start(job, copying)) == (0, "")
    (program,) = job["spec"]["containers"]
    # This machine has one device, and the job of the example wants two.
    words = [word.replace("accelerators=2", "accelerators=1") for word in program["command"]]
    words[2:2] = ["--mode=remote", "--report"]
    # A program takes only faster devices by itself; these are the cores of this machine.
    program["env"].append({"name": "OUTBOARD_POOL_GFLOPS", "value": "0"})
    status, said = _finish(machine.run(job, program, words))
    assert status == 0, said
    assert "right" in said
    assert re.search(r"dgemm\s+1\s+1\b", said), said


def copy_keys(machine: Machine, *pods: dict[str, Any]) -> None:
    for pod in pods:
        for one in pod["spec"]["initContainers"]:
            assert _finish(machine.start(pod, one)) == (0, "")


@pytest.mark.end_to_end
def test_the_commands_of_the_containers_work(machine: Machine) -> None:
    by_name = {pod["name"]: pod for pod in pods()}
    manager, daemon = by_name["outboard-manager"], by_name["outboard-daemon"]
    made = make_keys(machine.folder / "keys")

    def all_of(member: str) -> dict[str, Path]:
        return {file.name: file for file in made[member].iterdir() if file.is_file()}

    machine.secret("outboard-manager", all_of("m1"))
    mine = all_of("n1")
    own = {"n1.pem": mine["daemon.pem"], "n1.key": mine["daemon.key"]}
    machine.secret("outboard-daemon", {"pool.pem": mine["pool.pem"], **own})
    shutil.copy(FOLDER / "base" / "pool.toml", machine.volume("outboard-manager", "config"))
    copy_keys(machine, manager, daemon)
    copied = ["daemon.key", "daemon.pem", "pool.pem"]
    assert sorted(p.name for p in machine.volume("outboard-daemon", "key").iterdir()) == copied
    # They run again if the sandbox is made anew, now with a list of revoked members.
    root = keys.read_pool(made["m1"].parent / "authority")
    members.write_list(machine.folder, members.revoke(root, None, [1]))
    for pod in ("outboard-manager", "outboard-daemon"):
        machine.add_to_secret(pod, members.LIST, machine.folder / members.LIST)
    copy_keys(machine, manager, daemon)
    copied.insert(2, members.LIST)
    assert sorted(p.name for p in machine.volume("outboard-daemon", "key").iterdir()) == copied

    (serving,) = manager["spec"]["containers"]
    ready = serving["readinessProbe"]["exec"]["command"]
    manages = machine.start(manager, serving)
    assert manages.stdout is not None
    listens = f"listening on https://127.0.0.1:{machine.ports['7780']}\n"
    assert listens in iter(manages.stdout.readline, "")  # among lines of the log
    status, said = _finish(machine.run(manager, serving, ready))
    assert status == 0, said

    (lending,) = daemon["spec"]["containers"]
    (patch,) = documents(FOLDER / "cpu" / "daemon.yaml")  # there is no other device here
    lending |= {"args": patch["spec"]["template"]["spec"]["containers"][0]["args"]}
    lends = machine.start(daemon, lending)
    socket_path = machine.volume("outboard-manager", "run") / "pool.sock"
    client = PoolClient(f"unix:{socket_path}")

    def devices() -> Any:
        return client.pages("/v1/devices", "devices")

    until(lambda: [d["health"] for d in devices()] == ["ok"], "the daemon's device is there")
    assert devices()[0]["addresses"] == [f"127.0.0.1:{machine.ports['7770']}"]
    # Volumes, and nothing else, can be written in, by a user without rights.
    probe = "touch /tmp/x; id -u; grep CapBnd /proc/self/status; touch /var/tmp/x"
    status, said = _finish(machine.run(daemon, lending, ["sh", "-c", probe]))
    assert re.fullmatch(rf"{USER}\nCapBnd:\s+0+\n.*Read-only file system\n", said), said
    assert (machine.volume("outboard-daemon", "tmp") / "x").exists()

    for number, name in enumerate(("products", "by-itself"), 1):
        machine.secret(name, all_of("ada"))
        run_job(machine, by_name[name])
        verbs = [row["verb"] for row in client.pages("/v1/audit", "records")]
        assert verbs.count("grant") == number, f"{name}: {verbs}"
        until(lambda: devices()[0]["allocation"] == "free", "the lease is over")

    for process, what in ((lends, "daemon"), (manages, "manager")):
        process.send_signal(signal.SIGTERM)
        status, said = _finish(process)
        assert status == 0, f"{what}: {said}"
    status, said = _finish(machine.run(manager, serving, ready))
    assert status == 1, said
