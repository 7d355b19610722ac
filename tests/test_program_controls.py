"""Linux congestion controls as eBPF objects: the native control's results, and clear errors."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from anabranch import _core, programs
from anabranch.compile.run import compile_run
from anabranch.programs import needs
from anabranch.runs import RunError
from anabranch.scenario import Scenario, ScenarioError

HEADERS = Path(__file__).parents[1] / "bpf"
needs_clang = pytest.mark.skipif(not shutil.which("clang"), reason="needs clang")


def scenario(
    congestion: dict[str, object], directory: Path | None = None, loss: float = 0.002, beside: str | None = "linux-reno"
) -> Scenario:
    document = {
        "topology": {"from": "dumbbell"},
        "impairments": [{"link": "all", "loss": loss}],
        "stacks": {"mine": {"preset": "linux-reno", "congestion": congestion}},
        "traffic": [{"from": "left", "to": "right", "flows": 3, "stack": ["mine", beside] if beside else "mine"}],
        "run": {"duration": "3s"},
    }
    return Scenario(document, directory=directory)


@pytest.mark.parametrize("loss", [0.0002, 0.002, 0.03])
def test_the_object_of_reno_gives_the_results_of_the_native_control(loss: float) -> None:
    flows = scenario({"program": "anabranch_reno"}, loss=loss).run().flows
    mine, native = (
        flows.filter(flows["stack"] == name).drop("stack", "run", "variant_stack") for name in ("mine", "linux-reno")
    )
    assert mine["retransmits"].sum() > 5
    assert mine.equals(native)


@pytest.mark.parametrize("name", programs.NAMES)
def test_both_event_loops_give_a_program_the_same_results(name: str) -> None:
    case = scenario({"program": name}).cases[0]
    assert _core.disagreement(json.dumps(compile_run(case, 1))) is None


def compiled(directory: Path, functions: str, members: str) -> str:
    """An object with these functions and members of ``tcp_congestion_ops``. Its threshold and its window after an undo are two without others."""
    required = "".join(f".{member} = (void *)half, " for member in ("ssthresh", "undo_cwnd") if member not in members)
    (directory / "mine.bpf.c").write_text(f"""
#include "anabranch.bpf.h"
SEC("struct_ops/half") u32 BPF_PROG(half, struct sock *sk) {{ return 2; }}
{functions}
SEC(".struct_ops") struct tcp_congestion_ops mine = {{ .name = "mine", {required}{members} }};
char LICENSE[] SEC("license") = "GPL";
""")
    command = [
        "clang",
        "-target",
        "bpf",
        "-mcpu=v3",
        "-O2",
        "-g",
        f"-I{HEADERS}",
        "-c",
        "mine.bpf.c",
        "-o",
        "mine.bpf.o",
    ]
    subprocess.run(command, check=True, cwd=directory)
    return "mine.bpf.o"


@needs_clang
@pytest.mark.parametrize(("lost", "flags"), [([], [2]), ([30, 32], [1, 2, 3])])
def test_in_ack_event_is_told_what_linux_tells_it(tmp_path: Path, lost: list[int], flags: list[int]) -> None:
    """Recorded from Linux 6.18: 2 for an ACK that advances, 1 for one with SACK blocks only, 3 for one that advances between holes. The
    program's window is ten, and a bit for each number that it was told.
    """
    event = """
static u32 told;
SEC("struct_ops/event") void BPF_PROG(event, struct sock *sk, u32 flags)
{ told |= 1 << (flags & 7); tcp_sk(sk)->snd_cwnd = 10 + told; }
"""
    avoid = 'SEC("struct_ops/avoid") void BPF_PROG(avoid, struct sock *sk, u32 ack, u32 acked) {}'
    members = ".in_ack_event = (void *)event, .cong_avoid = (void *)avoid, .undo_cwnd = (void *)half"
    program = compiled(tmp_path, event + avoid, members)
    document = scenario({"program": program}, tmp_path, beside=None).document
    document["impairments"] = [
        {"link": ["left", "right"], "one_way": True, "loss": {"model": "list", "packets": lost}}
    ] * bool(lost)
    document["traffic"][0]["flows"] = 1
    flows = Scenario(document, directory=tmp_path).run().flows
    assert flows["cwnd_segments"].to_list() == [10 + sum(1 << flag for flag in flags)]


@needs_clang
def test_in_ack_event_hears_of_an_echo_before_the_reduction_for_it(tmp_path: Path) -> None:
    """As in Linux's ``tcp_ack``. The window never grows. The first burst of ten is marked from the sixth packet on. An echo that the program knows of
    reduces to nine, another one to four.
    """
    functions = """
static u32 echoes;
SEC("struct_ops/event") void BPF_PROG(event, struct sock *sk, u32 flags) { echoes = flags & 4; }
SEC("struct_ops/avoid") void BPF_PROG(avoid, struct sock *sk, u32 ack, u32 acked) {}
SEC("struct_ops/reduced") u32 BPF_PROG(reduced, struct sock *sk) { return echoes ? 9 : 4; }
"""
    members = ".ssthresh = (void *)reduced, .in_ack_event = (void *)event, .cong_avoid = (void *)avoid, .undo_cwnd = (void *)half"
    program = compiled(tmp_path, functions, members)
    document = scenario({"program": program}, tmp_path, loss=0, beside=None).document
    document["topology"]["queue"] = {"discipline": "ecn-threshold", "mark": 5}
    document["stacks"]["mine"]["ecn"] = True
    document["traffic"][0]["flows"] = 1
    assert Scenario(document, directory=tmp_path).run().flows["cwnd_segments"].to_list() == [9]


RENO = """
SEC("struct_ops/threshold") u32 BPF_PROG(threshold, struct sock *sk) { return tcp_reno_ssthresh(sk); }
SEC("struct_ops/avoid") void BPF_PROG(avoid, struct sock *sk, u32 ack, u32 acked) { tcp_reno_cong_avoid(sk, ack, acked); }
SEC("struct_ops/undone") u32 BPF_PROG(undone, struct sock *sk) { return tcp_reno_undo_cwnd(sk); }
"""
RENO_MEMBERS = ".ssthresh = (void *)threshold, .cong_avoid = (void *)avoid, .undo_cwnd = (void *)undone"


@needs_clang
@pytest.mark.parametrize("receive_window", ["40 kB", "3 MiB"])
def test_reno_by_the_functions_of_linux_gives_the_results_of_the_native_control(
    tmp_path: Path, receive_window: str
) -> None:
    """`tcp_reno_cong_avoid` does not grow a window that the receiver's keeps from being used."""
    document = scenario({"program": compiled(tmp_path, RENO, RENO_MEMBERS)}, tmp_path).document
    document["stacks"]["theirs"] = {"preset": "linux-reno", "receive_window": receive_window}
    document["stacks"]["mine"]["receive_window"] = receive_window
    document["traffic"][0]["stack"] = ["mine", "theirs"]
    flows = Scenario(document, directory=tmp_path).run().flows
    mine, native = (
        flows.filter(flows["stack"] == name).drop("stack", "run", "variant_stack") for name in ("mine", "theirs")
    )
    assert mine["retransmits"].sum() > 5
    assert mine.equals(native)


@needs_clang
def test_the_window_in_recovery_is_the_threshold_whatever_the_program_writes(tmp_path: Path) -> None:
    """Recorded from Linux 6.18: at `set_state(TCP_CA_Recovery)` the window is still the one before, `prior_cwnd`, and `high_seq` is `snd_nxt` since
    `ssthresh`. Linux's DCTCP sets the threshold there, and Linux sets the window to it. So this is Reno.
    """
    functions = """
SEC("struct_ops/late") u32 BPF_PROG(late, struct sock *sk) { return tcp_sk(sk)->snd_cwnd; }
SEC("struct_ops/state") void BPF_PROG(state, struct sock *sk, u8 new_state) {
    struct tcp_sock *tp = tcp_sk(sk);
    if (new_state != TCP_CA_Recovery)
        return;
    if (tp->snd_cwnd == tp->prior_cwnd && tp->high_seq == tp->snd_nxt)
        tp->snd_ssthresh = tcp_reno_ssthresh(sk);
    tp->snd_cwnd = 1;
}
SEC("struct_ops/event") void BPF_PROG(event, struct sock *sk, enum tcp_ca_event event) {
    if (event == CA_EVENT_LOSS)
        tcp_sk(sk)->snd_ssthresh = tcp_reno_ssthresh(sk);
    if (event == CA_EVENT_COMPLETE_CWR && ca_state(sk) != TCP_CA_Open) /* opened before, also as recorded */
        tcp_sk(sk)->snd_cwnd = 1;
}"""
    members = RENO_MEMBERS.replace("threshold", "late") + ", .set_state = (void *)state, .cwnd_event = (void *)event"
    flows = scenario({"program": compiled(tmp_path, RENO + functions, members)}, tmp_path).run().flows
    mine, native = (
        flows.filter(flows["stack"] == name).drop("stack", "run", "variant_stack") for name in ("mine", "linux-reno")
    )
    assert mine["retransmits"].sum() > 5
    assert mine.equals(native)


@needs_clang
def test_a_program_begins_when_its_connection_is_established(tmp_path: Path) -> None:
    """Recorded from Linux 6.18: `init` has the RTT of the handshake. The flow starts after 2 s, and the round trip is 20 ms and more. The
    window is the tenths of seconds, one for the RTT, and two for each `init` before.
    """
    functions = """
static u32 inits;
SEC("struct_ops/begin") void BPF_PROG(begin, struct sock *sk) {
    struct tcp_sock *tp = tcp_sk(sk);
    tp->snd_cwnd = (tp->tcp_mstamp - 1000000000) / 100000 + (tp->srtt_us / 8000 == 20) + 2 * inits++;
}
SEC("struct_ops/control") void BPF_PROG(control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) { }"""
    members = ".init = (void *)begin, .cong_control = (void *)control"
    document = scenario({"program": compiled(tmp_path, functions, members)}, tmp_path, loss=0, beside=None).document
    document["traffic"][0] |= {"start": "2s", "flows": 1}
    assert Scenario(document, directory=tmp_path).run().flows["cwnd_segments"].to_list() == [20 + 1]


@needs_clang
@pytest.mark.parametrize(("lost", "starts"), [([], 5), ([3, 4], 2)])
def test_a_program_hears_of_each_segment_that_is_sent_with_nothing_in_flight(
    tmp_path: Path, lost: list[int], starts: int
) -> None:
    """Recorded from Linux 6.18: CA_EVENT_TX_START comes with the first segment, with each of a window of one, and with the retransmission right
    behind `set_state(TCP_CA_Loss)`. Packet 1 is the SYN, packet 2 the ACK of its answer, and packet 4 a probe: the segment that it repeats is in flight.
    """
    functions = f"""
static u32 starts, lost;
SEC("struct_ops/begin") void BPF_PROG(begin, struct sock *sk) {{ tcp_sk(sk)->snd_cwnd = 1; }}
SEC("struct_ops/state") void BPF_PROG(state, struct sock *sk, u8 new_state) {{ lost = new_state == TCP_CA_Loss; }}
SEC("struct_ops/event") void BPF_PROG(event, struct sock *sk, enum tcp_ca_event event) {{
    if (event == CA_EVENT_TX_START && ++starts == {starts} && lost == {int(bool(lost))})
        tcp_sk(sk)->snd_cwnd = 77;
}}
SEC("struct_ops/control") void BPF_PROG(control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) {{ }}
SEC("struct_ops/same") u32 BPF_PROG(same, struct sock *sk) {{ return tcp_sk(sk)->snd_cwnd; }}"""
    members = (
        ".init = (void *)begin, .set_state = (void *)state, .cwnd_event = (void *)event, .cong_control = (void *)control, "
        ".undo_cwnd = (void *)same"
    )
    document = scenario({"program": compiled(tmp_path, functions, members)}, tmp_path, beside=None).document
    document["impairments"] = [
        {"link": ["left", "right"], "one_way": True, "loss": {"model": "list", "packets": lost}}
    ] * bool(lost)
    document["traffic"][0]["flows"] = 1
    assert Scenario(document, directory=tmp_path).run().flows["cwnd_segments"].to_list() == [77]


def test_cubic_grows_as_linux_does_where_each_ack_leaves_nothing_in_flight() -> None:
    """A receiver that acknowledges 16 segments at once, or after its delay: the window comes from two to eight by Reno's growth, not by the curve. A
    start of sending is no pause of the application.
    """
    windows = []
    for congestion in ({"program": "anabranch_cubic"}, "linux-cubic"):
        stack = {"preset": "linux-cubic", "congestion": congestion, "initial_window": "2 packets"}
        document = {
            "topology": {"links": [{"source": "A", "target": "B", "capacity": "50Mbps", "delay": "10ms"}]},
            "impairments": [{"link": ["A", "B"], "one_way": True, "loss": {"model": "list", "packets": [3, 4, 6, 7]}}],
            "stacks": {"mine": {**stack, "ack": {"name": "delayed", "every": 16}}},
            "traffic": [{"from": "A", "to": "B", "bulk": True, "stack": "mine"}],
            "run": {"duration": "3s"},
        }
        windows += Scenario(document).run().flows["cwnd_segments"].to_list()
    assert windows == [8, 8]


@needs_clang
@pytest.mark.parametrize(("lost", "flags"), [([], [1]), ([30, 32], [1, 2, 3])])
def test_cong_control_is_told_what_linux_tells_it(tmp_path: Path, lost: list[int], flags: list[int]) -> None:
    """Recorded from Linux 6.18: an ACK that advances has FLAG_WIN_UPDATE, too, and one with SACK blocks or between holes FLAG_SLOWPATH. The numbers
    are 1 for the first and 2 for the second; the window is ten, and a bit for each number.
    """
    functions = """
static u32 told;
SEC("struct_ops/begin") void BPF_PROG(begin, struct sock *sk) { told = 0; }
SEC("struct_ops/control") void BPF_PROG(control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) {
    u32 updates = !!(flag & FLAG_WIN_UPDATE), is_slow = !!(flag & FLAG_SLOWPATH);
    if (updates == !!(flag & FLAG_SND_UNA_ADVANCED))
        told |= 1 << (updates + 2 * is_slow);
    tcp_sk(sk)->snd_cwnd = 10 + told;
}"""
    members = ".init = (void *)begin, .cong_control = (void *)control"
    document = scenario({"program": compiled(tmp_path, functions, members)}, tmp_path, beside=None).document
    document["impairments"] = [
        {"link": ["left", "right"], "one_way": True, "loss": {"model": "list", "packets": lost}}
    ] * bool(lost)
    document["traffic"][0]["flows"] = 1
    flows = Scenario(document, directory=tmp_path).run().flows
    assert flows["cwnd_segments"].to_list() == [10 + sum(1 << flag for flag in flags)]


@needs_clang
def test_tcp_slow_start_ends_at_the_threshold_also_from_above_it(tmp_path: Path) -> None:
    """Linux: `cwnd = min(snd_cwnd + acked, snd_ssthresh); acked -= cwnd - snd_cwnd`. So 20 falls to 10, and 2 + 10 remain."""
    functions = """
SEC("struct_ops/begin") void BPF_PROG(begin, struct sock *sk) {
    struct tcp_sock *tp = tcp_sk(sk);
    tp->snd_cwnd = 20;
    tp->snd_ssthresh = 10;
    u32 left = tcp_slow_start(tp, 2);
    tp->snd_cwnd = 2 * left + tp->snd_cwnd;
}
SEC("struct_ops/control") void BPF_PROG(control, struct sock *sk, const struct rate_sample *rs) { }"""
    members = ".init = (void *)begin, .cong_control = (void *)control"
    flows = scenario({"program": compiled(tmp_path, functions, members)}, tmp_path, loss=0, beside=None).run().flows
    assert flows["cwnd_segments"].to_list() == [2 * 12 + 10] * 3


@needs_clang
@pytest.mark.parametrize(
    ("operation", "problem"),
    [
        ("sink = inet_csk(sk)->icsk_ack.ato;", r"needs inet_connection_sock\.icsk_ack\.ato"),
        ("tp->snd_una = 7;", "writes 4 bytes at address 0x[0-9a-f]+, which it may not"),
        ("while (sink < 7) sink = 0;", "an endless loop"),
        ("sink = bpf_get_current_pid_tgid();", "needs bpf_get_current_pid_tgid"),
        ("tcp_cong_avoid_ai(tp, 0, acked);", "Linux would divide by zero and crash"),
        ("sink = *(volatile u32 *)(u64)(tp->snd_cwnd & 1);", "reads 4 bytes at address 0x[01]"),
    ],
)
def test_what_a_program_may_not_do_ends_the_run_with_its_reason(tmp_path: Path, operation: str, problem: str) -> None:
    grow = f"""SEC("struct_ops/grow") void BPF_PROG(grow, struct sock *sk, u32 ack, u32 acked) {{
        volatile u32 sink = 0;
        struct tcp_sock *tp = tcp_sk(sk);
        {operation}
    }}"""
    name = compiled(tmp_path, grow, ".cong_avoid = (void *)grow")
    with pytest.raises(RunError, match=rf"stack 'mine', congestion, at 0\.\d+ s: cong_avoid: .*{problem}"):
        scenario({"program": name}, tmp_path).run()


@needs_clang
def test_a_program_that_paces_sends_at_its_rate_and_sees_it_in_rate_samples(tmp_path: Path) -> None:
    functions = """
SEC("struct_ops/begin") void BPF_PROG(begin, struct sock *sk) {
    tcp_sk(sk)->snd_cwnd = 1000;
    sk->sk_pacing_rate = 1250000; /* bytes of payload a second */
    sk->sk_pacing_status = SK_PACING_NEEDED;
}
SEC("struct_ops/control") void BPF_PROG(control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) {
    struct tcp_sock *tp = tcp_sk(sk);
    if (rs->interval_us <= 0 || tp->tcp_mstamp < 1002000000) /* the second second */
        return;
    u64 rate = (u64)rs->delivered * tp->mss_cache * 1000000 / rs->interval_us;
    if (rate < 1240000 || rate > 1260000 || rs->is_ack_delayed)
        tp->snd_cwnd = 1;
}"""
    name = compiled(tmp_path, functions, ".init = (void *)begin, .cong_control = (void *)control")
    flows = scenario({"program": name}, tmp_path, loss=0).run().flows
    mine = flows.filter(flows["stack"] == "mine")
    assert mine["cwnd_segments"].to_list() == [1000] * 3
    # Three flows of 10 Mbit/s for 3 s, less the start.
    assert mine["goodput_bps"].to_list() == pytest.approx([1e7] * 3, rel=0.03)


@needs_clang
def test_a_rate_sample_counts_the_marks_of_its_interval(tmp_path: Path) -> None:
    """Linux's `tcp_rate_gen`. In the second second all segments of the round trip were marked."""
    functions = """
SEC("struct_ops/begin") void BPF_PROG(begin, struct sock *sk) { tcp_sk(sk)->snd_cwnd = 100; }
SEC("struct_ops/control") void BPF_PROG(control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) {
    struct tcp_sock *tp = tcp_sk(sk);
    if (tp->tcp_mstamp > 1001000000 && rs->delivered > 0 && (rs->delivered < 50 || rs->delivered_ce != rs->delivered))
        tp->snd_cwnd = 2;
}
SEC("struct_ops/same") u32 BPF_PROG(same, struct sock *sk) { return 100; }"""
    members = ".init = (void *)begin, .cong_control = (void *)control, .ssthresh = (void *)same"
    document = scenario({"program": compiled(tmp_path, functions, members)}, tmp_path, loss=0, beside=None).document
    link = {"source": "left", "target": "right", "capacity": "10Mbps", "delay": "10ms"}
    document["topology"] = {"links": [link], "queue": {"discipline": "ecn-threshold", "mark": 5}}
    document["stacks"]["mine"] |= {"ecn": True, "ecn_echo": "exact"}
    document["traffic"][0]["flows"] = 1
    assert Scenario(document, directory=tmp_path).run().flows["cwnd_segments"].to_list() == [100]


@needs_clang
def test_a_program_that_only_asks_for_pacing_is_paced_as_linux_paces(tmp_path: Path) -> None:
    """By the window and the smoothed RTT (`tcp_update_pacing_rate`): as the native control on a stack that paces."""
    begin = 'SEC("struct_ops/begin") void BPF_PROG(begin, struct sock *sk) { sk->sk_pacing_status = SK_PACING_NEEDED; }'
    program = compiled(tmp_path, RENO + begin, RENO_MEMBERS + ", .init = (void *)begin")
    document = scenario({"program": program}, tmp_path, loss=0).document
    document["topology"]["queue"] = {"discipline": "drop-tail", "limit": "1000 packets"}
    document["stacks"]["paced"] = {"preset": "linux-reno", "pacing": True}
    document["run"]["duration"] = "150ms"  # of slow start, whose first segments are not paced
    longest = {}
    for stack in ("mine", "paced", "linux-reno"):
        document["traffic"][0] |= {"stack": stack, "flows": 1}
        longest[stack] = Scenario(document, directory=tmp_path).run().links["queue_delay_max_s"].max()
    assert longest["mine"] == pytest.approx(longest["paced"], rel=0.1)
    assert longest["mine"] < 0.5 * longest["linux-reno"]


@needs_clang
@pytest.mark.parametrize("least", [2, 40])
def test_a_program_chooses_how_many_segments_it_sends_at_one_instant_at_least(tmp_path: Path, least: int) -> None:
    functions = f"""
SEC("struct_ops/begin") void BPF_PROG(begin, struct sock *sk) {{
    tcp_sk(sk)->snd_cwnd = 1000;
    sk->sk_pacing_rate = 500000; /* bytes of payload a second: a segment each 3 ms */
    sk->sk_pacing_status = SK_PACING_NEEDED;
}}
SEC("struct_ops/control") void BPF_PROG(control, struct sock *sk, const struct rate_sample *rs) {{ }}
SEC("struct_ops/least") u32 BPF_PROG(least, struct sock *sk) {{ return {least}; }}"""
    members = ".init = (void *)begin, .cong_control = (void *)control, .min_tso_segs = (void *)least"
    congestion: dict[str, object] = {"program": compiled(tmp_path, functions, members)}
    links = scenario(congestion, tmp_path, loss=0, beside=None).run().links
    longest = links["queue_delay_max_s"].max()
    # Three flows begin together; the first ten segments are not paced. Their packets enter the bottleneck of 1 Gbit/s faster than they
    # leave, 1500 bytes each 12 us.
    together = 3 * max(10, least)
    assert isinstance(longest, float)
    assert 0.7 * together <= longest / 12e-6 <= together


@needs_clang
def test_variables_in_any_section_of_data_are_named_as_shared_by_connections(tmp_path: Path) -> None:
    functions = """
u32 first; u32 second SEC(".data.mine"); const volatile u32 constant = 3;
SEC("struct_ops/avoid") void BPF_PROG(avoid, struct sock *sk, u32 ack, u32 acked) { first += constant; second++; }"""
    file = tmp_path / compiled(tmp_path, functions, ".cong_avoid = (void *)avoid")
    assert sorted(needs.describe(file)["controls"][0]["shared"]) == ["first", "second"]
    problems = scenario({"program": file.name}, tmp_path).warnings.problems
    assert [problem.path for problem in problems] == [("stacks", "mine", "congestion")]
    assert re.search(
        "has a copy of .*second.* for each flow here, where in Linux all flows share one", problems[0].message
    )


def test_check_knows_what_linux_refuses_and_the_simulator_lacks() -> None:
    lacking: needs.ObjectControl = {
        "name": "x", "operations": [], "fields": [], "functions": [], "missing": ["bpf_loop"], "shared": [], "needs_ecn": False,
    }  # fmt: skip
    assert list(needs.findings("GPL", lacking)) == [
        "uses bpf_loop, which the simulator lacks: a run ends at the first use"
    ]
    (said,) = needs.findings("MIT", lacking | {"missing": []})
    assert said.startswith('has licence "MIT": Linux refuses it')
    (line, *_) = needs.lines({"licence": "MIT", "controls": [lacking]})
    assert line == "x (licence MIT: Linux refuses it)"
    assert not scenario({"program": "anabranch_cubic"}).warnings.problems


@needs_clang
def test_storage_of_no_socket_is_none(tmp_path: Path) -> None:
    """As Linux's `bpf_sk_storage_get` and `bpf_sk_storage_delete`; an unknown flag gives none either."""
    functions = """
struct { __uint(type, BPF_MAP_TYPE_SK_STORAGE); __uint(map_flags, BPF_F_NO_PREALLOC); __type(key, int); __type(value, u32); } kept SEC(".maps");
SEC("struct_ops/begin") void BPF_PROG(begin, struct sock *sk) {
    int right = !bpf_sk_storage_get(&kept, (void *)0, 0, 1);
    right += bpf_sk_storage_delete(&kept, (void *)0) == -22;
    right += !bpf_sk_storage_get(&kept, sk, 0, 3);
    right += bpf_sk_storage_get(&kept, sk, 0, 1) != 0;
    right += bpf_sk_storage_delete(&kept, sk) == 0;
    tcp_sk(sk)->snd_cwnd = right;
}
SEC("struct_ops/control") void BPF_PROG(control, struct sock *sk, const struct rate_sample *rs) { }"""
    members = ".init = (void *)begin, .cong_control = (void *)control"
    flows = scenario({"program": compiled(tmp_path, functions, members)}, tmp_path, loss=0, beside=None).run().flows
    assert flows["cwnd_segments"].to_list() == [5] * 3


@needs_clang
@pytest.mark.parametrize("hz", [100, 1000])
def test_the_jiffies_of_a_program_are_those_of_its_stack(tmp_path: Path, hz: int) -> None:
    """The program's window is a tenth of the jiffies in a second, by the microseconds of the last ACK."""
    functions = """
SEC("struct_ops/control") void BPF_PROG(control, struct sock *sk, const struct rate_sample *rs) {
    tcp_sk(sk)->snd_cwnd = bpf_jiffies64() / (tcp_sk(sk)->tcp_mstamp / 1000000) / 10;
}"""
    document = scenario(
        {"program": compiled(tmp_path, functions, ".cong_control = (void *)control")}, tmp_path
    ).document
    document["stacks"]["mine"]["hz"] = hz
    flows = Scenario(document, directory=tmp_path).run().flows
    assert flows.filter(flows["stack"] == "mine")["cwnd_segments"].to_list() == [hz / 10] * 3


@needs_clang
@pytest.mark.parametrize("option", ["TCP_BPF_RTO_MIN", "TCP_BPF_DELACK_MAX"])
def test_options_of_timers_take_what_linux_takes(tmp_path: Path, option: str) -> None:
    """Linux 6.18 at 250 Hz answered so: it takes two ticks, rounded up, to 200 ms, and returns -EINVAL for all else."""
    taken, refused = [4_001, 8_000, 40_001, 100_000, 200_000], [-1, 0, 1, 4_000, 200_001, 204_001]
    functions = f"""
SEC("struct_ops/begin") void BPF_PROG(begin, struct sock *sk) {{
    int values[] = {{ {", ".join(map(str, taken + refused))} }};
    int right = 0;
    for (int i = 0; i < {len(taken + refused)}; i++)
        right += bpf_setsockopt(sk, SOL_TCP, {option}, &values[i], 4) == (i < {len(taken)} ? 0 : -22);
    tcp_sk(sk)->snd_cwnd = right;
}}
SEC("struct_ops/control") void BPF_PROG(control, struct sock *sk, const struct rate_sample *rs) {{ }}"""
    members = ".init = (void *)begin, .cong_control = (void *)control"
    flows = scenario({"program": compiled(tmp_path, functions, members)}, tmp_path, loss=0, beside=None).run().flows
    assert flows["cwnd_segments"].to_list() == [len(taken + refused)] * 3


@pytest.mark.parametrize("hz", [100, 250, 1000])
def test_mprc_repairs_a_loss_within_a_short_timeout_whatever_the_clock(hz: int) -> None:
    """At 100 Hz, Linux does not take its first wish of 8 ms. The RTT is 10 ms; Linux's own least timeout would be 210 ms."""
    stack = {"preset": "linux-reno", "congestion": {"program": "anabranch_mprc"}, "hz": hz, "ack": "immediate"}
    document = {
        "topology": {"links": [{"source": "A", "target": "B", "capacity": "50Mbps", "delay": "5ms"}]},
        "impairments": [{"link": ["A", "B"], "one_way": True, "loss": {"model": "list", "packets": [5000]}}],
        "stacks": {
            "mine": {
                **stack,
                "sack": False,
                "detection": {"name": "dup-ack", "threshold": 1_000_000},
                "receive_window": "40 kB",
            }
        },
        "traffic": [{"from": "A", "to": "B", "bulk": True, "stack": "mine"}],
        "run": {"duration": "3s"},
    }
    flows = Scenario(document).run().flows
    assert flows["timeouts"].to_list() == [1]
    assert 0.01 < flows["longest_stall_s"].item() < 0.1


@needs_clang
@pytest.mark.parametrize(("hz", "ticks"), [(250, 8), (1000, 29)])
def test_the_least_timeout_that_a_program_sets_is_the_margin_over_the_rtt(tmp_path: Path, hz: int, ticks: int) -> None:
    """Recorded from Linux 6.18: the timeout is SRTT and 200 ms when `init` sets the least one to 8 ms. It falls by a quarter of the margin's excess each
    round trip, to SRTT and 8 ms in ticks, rounded up. The round trip is 20.0 to 20.9 ms, and the window is this timeout.
    """
    functions = """
SEC("struct_ops/begin") void BPF_PROG(begin, struct sock *sk) {
    int least = 8000;
    bpf_setsockopt(sk, SOL_TCP, TCP_BPF_RTO_MIN, &least, 4);
}
SEC("struct_ops/control") void BPF_PROG(control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) {
    tcp_sk(sk)->snd_cwnd = inet_csk(sk)->icsk_rto < 200 ? inet_csk(sk)->icsk_rto : 10;
}"""
    members = ".init = (void *)begin, .cong_control = (void *)control"
    document = scenario({"program": compiled(tmp_path, functions, members)}, tmp_path, loss=0, beside=None).document
    document["stacks"]["mine"] |= {"hz": hz, "ack": "immediate"}
    document["traffic"][0]["flows"] = 1
    assert Scenario(document, directory=tmp_path).run().flows["cwnd_segments"].to_list() == [ticks]


@pytest.mark.parametrize(
    ("congestion", "problem"),
    [
        ({"program": "anabranch_renoo"}, '"anabranch_renoo" is no object file (.o); did you mean "anabranch_reno"?'),
        ({"program": "none.o"}, "none.o: cannot be read"),
        ({"program": "text.o"}, "text.o: is no little-endian 64-bit ELF file"),
        ({"program": "anabranch_reno", "name": "cubic"}, "has no congestion control cubic"),
    ],
)
def test_what_is_no_program_is_refused(tmp_path: Path, congestion: dict[str, object], problem: str) -> None:
    (tmp_path / "text.o").write_text("no object")
    with pytest.raises(ScenarioError) as refused:
        scenario(congestion, tmp_path)
    assert problem in str(refused.value)


@needs_clang
def test_a_program_for_which_linux_negotiates_ecn_must_have_it(tmp_path: Path) -> None:
    congestion: dict[str, object] = {
        "program": compiled(tmp_path, RENO, RENO_MEMBERS + ", .flags = TCP_CONG_NEEDS_ECN")
    }
    document = scenario({"program": "anabranch_reno"}, tmp_path).document
    document["stacks"]["mine"] |= {"congestion": congestion, "ecn": True}
    Scenario(document, directory=tmp_path)
    with pytest.raises(ScenarioError, match=r"stacks\.mine .*: ecn must be true: .* \(TCP_CONG_NEEDS_ECN\)"):
        scenario(congestion, tmp_path)


@needs_clang
def test_an_operation_that_linux_requires_must_be_there(tmp_path: Path) -> None:
    """As `tcp_validate_congestion_control` does; Linux says only "Invalid argument"."""
    name = compiled(tmp_path, "", ".ssthresh = 0, .undo_cwnd = 0")
    problem = "mine.bpf.o: mine has no ssthresh, no undo_cwnd, no cong_avoid or cong_control: Linux requires it"
    with pytest.raises(ScenarioError, match=problem):
        scenario({"program": name}, tmp_path)


def test_the_manifest_has_the_bytes_and_the_hash_of_the_program(tmp_path: Path) -> None:
    scenario({"program": "anabranch_reno"}).run(directory=tmp_path / "run")
    (recorded,) = json.loads((tmp_path / "run" / "manifest.json").read_text())["programs"]
    found = programs.find("anabranch_reno")
    assert found is not None
    content = found.read_bytes()
    assert base64.b64decode(recorded["program"]) == content
    assert recorded["sha256"] == hashlib.sha256(content).hexdigest()
    assert (recorded["stack"], recorded["name"]) == ("mine", "anabranch_reno")
