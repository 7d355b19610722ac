"""Network namespaces, devices and processes of Linux that leave nothing behind, whatever happens to this process.

A :class:`~anabranch.engines.kernel.linux_network.namespace.NetworkNamespace` has no name. A thread of this process is in it, and nothing else keeps it.
So it ends with this process, also by ``kill -9``. Devices end with the namespace, or earlier with the descriptor of
:func:`~anabranch.engines.kernel.linux_network.devices.open_device`. Programs end with the namespace's thread (:mod:`anabranch.engines.kernel.linux_network.programs`).

    with NetworkNamespace() as host:
        host.configure("link set lo up")                       # lines of `ip -batch`
        tun = open_device(host, "path", address="10.0.0.1", mtu=1500)   # read and write IP packets here
        host.set_sysctl("net.ipv4.tcp_sack", "0")
        socket_there = host.run(socket.socket)                 # any function, called inside
        server = host.start(["iperf3", "--server"])            # a subprocess.Popen

Two namespaces are joined by TUN or TAP devices whose packets this process carries, or by a pair of virtual Ethernet devices:
:func:`~anabranch.engines.kernel.linux_network.devices.join`.

Privileges: root, or root of a user namespace. :func:`~anabranch.engines.kernel.linux_network.support.missing` says what this process lacks, and
:func:`~anabranch.engines.kernel.linux_network.support.enter_user_namespace` starts this program again as root of a new user namespace.
"""
