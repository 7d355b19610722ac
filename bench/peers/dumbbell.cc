// Bulk TCP NewReno flows over one shared bottleneck, in ns-3; prints one line of JSON.
//
//   source i --access-- router 1 --bottleneck-- router 2 --access-- sink i
//
// Packets: a data packet is 1000 bytes on the wire: 958 bytes of payload, 20 of TCP, 20 of IPv4 and 2 of
// the point-to-point link. An ACK is 42 bytes, more when it carries SACK blocks. TCP timestamps are off,
// so that sizes are near those of the other simulators. SACK and the recovery algorithm are ns-3's own
// defaults. There is no traffic-control layer: the only queue of a link is its device's drop-tail queue.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t kHeaderBytes = 42;
constexpr uint16_t kPort = 9;

uint64_t g_packetHops = 0;
uint64_t g_drops = 0;

/// A packet has crossed a link: counted as the receiving device takes it off the wire.
void
CountHop(Ptr<const Packet>)
{
    ++g_packetHops;
}

void
CountDrop(Ptr<const Packet>)
{
    ++g_drops;
}

struct Options
{
    uint32_t flows = 16;
    double seconds = 20;
    std::string accessRate = "10Gbps";
    std::string accessDelay = "1ms";
    std::string bottleneckRate = "1Gbps";
    std::string bottleneckDelay = "10ms";
    uint32_t queuePackets = 3000; // waiting packets, the one being sent not counted
    double startIntervalSeconds = 0.010;
    uint32_t wireBytes = 1000;
    uint32_t initialWindow = 10;
    uint32_t bufferBytes = 16u << 20; // above the pipe and the queue together: never the limit
    std::string scheduler = "ns3::MapScheduler";
};

Options
ReadOptions(int argc, char** argv)
{
    Options options;
    CommandLine line;
    line.AddValue("flows", "number of flows", options.flows);
    line.AddValue("seconds", "simulated seconds", options.seconds);
    line.AddValue("queue-packets", "packets that may wait at the bottleneck", options.queuePackets);
    line.AddValue("scheduler", "event scheduler type", options.scheduler);
    line.Parse(argc, argv);
    return options;
}

void
SetDefaults(const Options& options)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(options.wireBytes - kHeaderBytes));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(options.initialWindow));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(options.bufferBytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(options.bufferBytes));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
}

/// A helper for one kind of link; without flow control no queue disc is put on its devices.
PointToPointHelper
MakeLink(const std::string& rate, const std::string& delay, uint32_t queuePackets)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", StringValue(delay));
    link.SetQueue("ns3::DropTailQueue<Packet>",
                  "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, queuePackets)));
    link.DisableFlowControl();
    return link;
}

void
CountHops(const NetDeviceContainer& devices)
{
    for (uint32_t i = 0; i < devices.GetN(); ++i)
    {
        devices.Get(i)->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&CountHop));
    }
}

template <typename Value>
void
PrintList(const std::vector<Value>& values)
{
    std::cout << "[";
    for (std::size_t i = 0; i < values.size(); ++i)
    {
        std::cout << (i == 0 ? "" : ", ") << values[i];
    }
    std::cout << "]";
}

} // namespace

int
main(int argc, char** argv)
{
    const Options options = ReadOptions(argc, argv);
    SetDefaults(options);
    Simulator::SetScheduler(ObjectFactory(options.scheduler));

    NodeContainer routers;
    NodeContainer sources;
    NodeContainer sinks;
    routers.Create(2);
    sources.Create(options.flows);
    sinks.Create(options.flows);

    // Static routes: hosts have a default route, routers a network of hosts behind each other.
    InternetStackHelper stack;
    Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    stack.SetIpv6StackInstall(false);
    stack.InstallAll();

    const auto manyPackets = 10'000'000u;
    auto bottleneck = MakeLink(options.bottleneckRate, options.bottleneckDelay, options.queuePackets);
    auto access = MakeLink(options.accessRate, options.accessDelay, manyPackets);
    const auto middle = bottleneck.Install(routers);
    DynamicCast<PointToPointNetDevice>(middle.Get(0))
        ->GetQueue()
        ->TraceConnectWithoutContext("Drop", MakeCallback(&CountDrop));
    DynamicCast<PointToPointNetDevice>(middle.Get(1))
        ->GetQueue()
        ->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, manyPackets));
    CountHops(middle);
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.0");
    const auto middleInterfaces = address.Assign(middle);

    std::vector<Ptr<PacketSink>> receivers;
    for (uint32_t side = 0; side < 2; ++side)
    {
        const auto& hosts = side == 0 ? sources : sinks;
        address.SetBase(side == 0 ? "10.1.0.0" : "10.2.0.0", "255.255.255.0");
        for (uint32_t i = 0; i < options.flows; ++i)
        {
            const auto devices = access.Install(routers.Get(side), hosts.Get(i));
            CountHops(devices);
            const auto interfaces = address.Assign(devices);
            address.NewNetwork();
            routing.GetStaticRouting(hosts.Get(i)->GetObject<Ipv4>())
                ->SetDefaultRoute(interfaces.GetAddress(0), 1);
            if (side == 1)
            {
                const InetSocketAddress destination(interfaces.GetAddress(1), kPort);
                PacketSinkHelper sink("ns3::TcpSocketFactory", destination);
                receivers.push_back(DynamicCast<PacketSink>(sink.Install(hosts.Get(i)).Get(0)));
                BulkSendHelper bulk("ns3::TcpSocketFactory", destination);
                bulk.SetAttribute("SendSize", UintegerValue(options.wireBytes - kHeaderBytes));
                bulk.Install(sources.Get(i)).Start(Seconds(i * options.startIntervalSeconds));
            }
        }
        const auto router = routers.Get(side)->GetObject<Ipv4>();
        routing.GetStaticRouting(router)->AddNetworkRouteTo(side == 0 ? "10.2.0.0" : "10.1.0.0",
                                                            "255.255.0.0",
                                                            middleInterfaces.GetAddress(1 - side),
                                                            1);
    }

    Simulator::Stop(Seconds(options.seconds));
    Simulator::Run();

    std::vector<uint64_t> delivered;
    std::vector<double> goodput;
    for (const auto& receiver : receivers)
    {
        const uint64_t payloadBytes = receiver->GetTotalRx();
        delivered.push_back(payloadBytes / (options.wireBytes - kHeaderBytes));
        goodput.push_back(payloadBytes * 8.0 / options.seconds);
    }
    std::cout.precision(12);
    std::cout << "{\"packet_hops\": " << g_packetHops << ", \"delivered_packets\": ";
    PrintList(delivered);
    std::cout << ", \"goodput_bps\": ";
    PrintList(goodput);
    std::cout << ", \"drops\": " << g_drops << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
