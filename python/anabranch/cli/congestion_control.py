"""``anabranch congestion-control``: new, check, load, unload, list, trace, replay."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Group, Parameter

from anabranch.cli.exit_status import DONE, FAILED, UsageError
from anabranch.cli.options import OUTPUT, Json, Share, Whole, at_least, rate_bps, seconds
from anabranch.cli.output import json_text, tell
from anabranch.foundation.text_table import count

PATH, LINUX = Group("Path", sort_key=1), Group("Linux", sort_key=2)
File = Annotated[Path, Parameter(help="An object compiled from eBPF, such as my_cc.bpf.o.")]


def new_program(name: str, /) -> int:
    """Make a directory NAME with a congestion control to change: source, header, Makefile and scenario."""
    from anabranch.programs.new import VALID_NAME, create

    if not VALID_NAME.fullmatch(name):
        raise UsageError(f"{name!r}: must be at most 15 letters, digits and _, a letter first, such as my_cc")
    tell(create(name, Path()))
    return DONE


def check_program(file: File, /) -> int:
    """Print what a congestion control needs and what the simulator lacks of it, and whether the running Linux accepts it."""
    import platform

    from anabranch.engines.kernel.linux_programs.libbpf import UnavailableError
    from anabranch.engines.kernel.linux_programs.loaded import LoadedObject
    from anabranch.programs import needs

    tell("\n".join(needs.lines(needs.describe(file))), flush=True)
    try:
        with LoadedObject(file) as loaded:
            functions = len(loaded.programs())
            names = ", ".join(loaded.register())
    except UnavailableError as reason:
        tell(f"Linux could not be asked: {reason}")
        return DONE
    tell(f"Linux {platform.release()} accepts {names} ({functions} functions)")
    return DONE


def load_program(
    file: File,
    /,
    *,
    namespace: Annotated[
        str | None,
        Parameter(group=LINUX, help="Make it the congestion control of new sockets in this network namespace."),
    ] = None,
    persist: Annotated[
        bool,
        Parameter(group=LINUX, negative=(), help="Keep it until unload (default: until this command is interrupted)."),
    ] = False,
) -> int:
    """Load a congestion control into the running Linux; sockets choose it by TCP_CONGESTION."""
    import signal

    from anabranch.engines.kernel.linux_programs import loaded, namespaces

    former = namespaces.default_control(namespace) if namespace else ""
    with loaded.LoadedObject(file) as controls:
        links = controls.register()
        stays = False
        try:
            if namespace:
                namespaces.set_default_control(namespace, next(iter(links)))
            if persist:
                for name, link in links.items():
                    loaded.pin(name, link)
                stays = True
            tell(f"loaded: {', '.join(links)}", flush=True)
            if not persist:
                signal.pause()
        finally:
            if namespace and not stays:
                namespaces.set_default_control(namespace, former)
    return DONE


def unload_program(name: str, /) -> int:
    """Unload a congestion control that was loaded with --persist; present flows keep it."""
    from anabranch.engines.kernel.linux_programs.loaded import unpin

    unpin(name)
    tell(f"unloaded: {name}")
    return DONE


def list_programs(*, json: Json = False) -> int:
    """List the congestion controls that Linux has, and which of them were loaded with --persist."""
    from anabranch.engines.kernel.linux_programs.loaded import available, pinned

    kept = pinned()
    if json:
        print(json_text({"controls": [{"name": name, "persistent": name in kept} for name in available()]}))
    else:
        tell("\n".join(f"{name}  loaded with --persist" if name in kept else name for name in available()))
    return DONE


def trace_program(
    file: File,
    /,
    output: Annotated[Path, Parameter(group=OUTPUT, help="The file to write: records compressed by gzip.")],
    *,
    rate: Annotated[str, Parameter(group=PATH, help="Rate of the path.")] = "20Mbit/s",
    delay: Annotated[str, Parameter(group=PATH, help="Delay of the path, one way.")] = "10ms",
    loss: Annotated[Share, Parameter(group=PATH, help="Ratio of data packets lost: 0.01 or 1%.")] = 0.0,
    calls: Annotated[Whole, Parameter(group=LINUX, help="Stop after about this number of calls.")] = 10_000,
    duration: Annotated[str, Parameter(group=LINUX, help="Stop after this time.")] = "60s",
    sysctl: Annotated[
        tuple[str, ...],
        Parameter(
            group=LINUX, negative=(), help="Set a sysctl of the sender, such as net.ipv4.tcp_sack=0. May be repeated."
        ),
    ] = (),
) -> int:
    """Record every call of a congestion control by real flows of Linux over an emulated path.

    FILE must be compiled with clang -include trace.bpf.h, which lies in the package's folder programs.
    """
    from anabranch.engines.kernel.linux_programs.emulator import EmulatedPath
    from anabranch.engines.kernel.linux_programs.tracing import trace

    at_least(1, calls=calls)
    if not 0 <= loss < 1:
        raise UsageError(f"--loss {loss:g}: must be at least 0 and less than 1, such as 0.01 or 1%")
    longest_s = seconds("--duration", duration)
    if longest_s == 0:
        raise UsageError(f"--duration {duration}: must be more than 0, such as 10s")
    network = EmulatedPath(rate_bps("--rate", rate), seconds("--delay", delay), loss)
    recorded = trace(file, output, network, calls, longest_s, sysctl)
    tell(f"{output}: {count(recorded, 'call')}")
    return DONE


def replay_program(
    file: File, trace: Annotated[Path, Parameter(help="The trace that congestion-control trace wrote of it.")], /
) -> int:
    """Execute the recorded calls of a trace again, and compare sockets and results with Linux's."""
    from anabranch.engines.kernel.linux_programs.replay import replay

    comparison = replay(file, trace)
    tell(f"{trace}: {count(comparison.calls, 'call')}, {comparison.differing} of them different from Linux")
    tell("\n".join(comparison.first), end="\n" if comparison.first else "")
    return FAILED if comparison.differing else DONE


congestion_control = App(
    name="congestion-control",
    help="Congestion controls in eBPF: new, replay; in the running Linux: check, load, unload, list, trace.",
)
congestion_control.command(new_program, name="new")
congestion_control.command(check_program, name="check")
congestion_control.command(load_program, name="load")
congestion_control.command(unload_program, name="unload")
congestion_control.command(list_programs, name="list")
congestion_control.command(trace_program, name="trace")
congestion_control.command(replay_program, name="replay")
