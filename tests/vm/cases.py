"""The register of VM cases and the machines they share."""

import collections

from harness import Host

Case = collections.namedtuple("Case", "id title name module function tier long")
registered = []


class Skip(Exception):
    """Raised by a case that cannot run here; the message is the reason a stranger would accept."""


def case(case_id, title, tier="vm", long=False):
    """`long`: takes minutes, so a quick run leaves it out."""
    def mark(function):
        registered.append(Case(case_id, title, function.__name__, function.__module__, function, tier, long))
        return function
    return mark


_hosts = {}
_runs = {}

WORKBENCH = '''
maxDuration = "02:00:00"
users = [ { name = "sandbox" }, { name = "builder" } ]
vfs = [ { vfs = @ref("shared-data") mountName = "data" } ]
'''


def shared_host():
    """One daemon for all cases that do not hurt it."""
    if "shared" not in _hosts:
        _hosts["shared"] = Host().start()
    return _hosts["shared"]


def shared_run():
    """One capsule with users sandbox and builder and a VFS at /mnt/data, for cases that leave it whole."""
    host = shared_host()
    run = _runs.get("shared")
    if run is None or run.status()["status"] != "Running":
        host.vfs("shared-data", {"/sales.csv": "product,units\nKettle,3\n"})
        _runs["shared"] = run = host.up("shared-workbench", WORKBENCH)
    return run


def after_failure():
    """A failed case may have hurt the shared capsule: the next case gets a new one."""
    run = _runs.pop("shared", None)
    if run is not None:
        try:
            run.terminate()
        except Exception as error:  # the next case reports what is really wrong
            print(f"     (shared capsule could not be stopped: {error})")


def close_all():
    problems = []
    for name, host in _hosts.items():
        try:
            host.close()
        except Exception as error:
            problems.append(f"host {name}: {error}")
    _hosts.clear()
    return problems
