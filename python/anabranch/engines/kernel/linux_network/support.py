"""Checks whether this machine and user can make network namespaces with devices, and says how to get what is missing."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import NoReturn

from anabranch.engines.kernel.linux_network.devices import open_device
from anabranch.engines.kernel.linux_network.errors import NetworkError
from anabranch.engines.kernel.linux_network.namespace import NetworkNamespace

_ENTERED = "ANABRANCH_USER_NAMESPACE"


def missing() -> str | None:
    """The requirement that is missing and how to get it; None if namespaces with devices can be made."""
    if sys.platform != "linux":
        return "this is not Linux"
    if not os.path.exists("/dev/net/tun"):
        return "/dev/net/tun is absent: `modprobe tun`, or give the container this device"
    try:
        with NetworkNamespace() as namespace:
            os.close(open_device(namespace, "probe", address="10.0.0.1"))
    except NetworkError as error:
        return str(error)
    return None


def privileges() -> str:
    """The privileges by which a process of this user can make namespaces with devices.

    Raises:
        NetworkError: it cannot.
    """
    reason = missing()
    if reason is None:
        return "as root"
    probe = "import sys; from anabranch.engines.kernel.linux_network import support; sys.exit(support.missing())"
    done = subprocess.run(
        _in_user_namespace([sys.executable, "-c", probe], reason), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NetworkError(done.stderr.strip() or reason)
    return "in a user namespace, without SCHED_FIFO"


def enter_user_namespace(command: Sequence[str]) -> NoReturn:
    """Replace this process by a command as root of a new user namespace, once.

    Raises:
        NetworkError: this process is in it already, ``unshare`` of util-linux is absent, or Linux allows none.
    """
    reason = missing() or "no user namespace is needed"
    if _ENTERED in os.environ:
        raise NetworkError(reason)
    words = _in_user_namespace(command, reason)
    # Once this process is replaced, only unshare could speak.
    trial = subprocess.run(
        _in_user_namespace([command[0], "--version"], reason), capture_output=True, text=True, check=False
    )
    if trial.returncode:
        raise NetworkError(f"{reason}; and Linux does not allow a user namespace instead ({trial.stderr.strip()})")
    os.environ[_ENTERED] = "1"
    os.execv(words[0], words)


def _in_user_namespace(command: Sequence[str], reason: str) -> list[str]:
    program = shutil.which("unshare")
    if program is None:
        raise NetworkError(reason)
    return [program, "--user", "--map-root-user", "--", *command]
