// Bulk TCP NewReno flows over any network, in ns-3; prints one line of JSON.
//
//   flows --links=FILE --flows=FILE --seconds=S --buffer=BYTES
//
// The first file has a line for each link, in both directions: node node bits-per-second seconds packets packets ratio, the queues
// there and back and the share of packets that the wire loses on its way there. The second has a line for each flow: node node
// seconds bytes, when it starts and how much it sends, -1 for no end. Packets and settings as in dumbbell.cc; routes of the fewest
// links (nix vectors, which ns-3 computes when a flow starts).

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdint>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t kHeaderBytes = 42;
constexpr uint32_t kWireBytes = 1000;
constexpr uint32_t kInitialWindow = 10;
constexpr uint16_t kFirstPort = 1024;
constexpr uint32_t kPorts = 60000;

uint64_t g_packetHops = 0;

void
CountHop(Ptr<const Packet>)
{
    ++g_packetHops;
}

double
CpuSeconds()
{
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

void
SetDefaults(uint32_t bufferBytes)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kWireBytes - kHeaderBytes));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(kInitialWindow));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(bufferBytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(bufferBytes));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
}

void
SetQueue(const Ptr<NetDevice>& device, uint32_t packets)
{
    DynamicCast<PointToPointNetDevice>(device)->GetQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, packets));
}

/// Reads the links, and gives every node an address by which it can be reached.
std::map<uint32_t, Ipv4Address>
BuildLinks(const std::string& file, const NodeContainer& nodes)
{
    std::map<uint32_t, Ipv4Address> addresses;
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.252");
    std::ifstream lines(file);
    uint32_t a = 0;
    uint32_t b = 0;
    double rate = 0;
    double delay = 0;
    double loss = 0;
    uint32_t there = 0;
    uint32_t back = 0;
    while (lines >> a >> b >> rate >> delay >> there >> back >> loss)
    {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate))));
        link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
        link.DisableFlowControl();
        const auto devices = link.Install(nodes.Get(a), nodes.Get(b));
        SetQueue(devices.Get(0), there);
        SetQueue(devices.Get(1), back);
        if (loss > 0)
        {
            auto model = CreateObject<RateErrorModel>();
            model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
            model->SetRate(loss);
            DynamicCast<PointToPointNetDevice>(devices.Get(1))->SetReceiveErrorModel(model);
        }
        for (uint32_t end = 0; end < 2; ++end)
        {
            devices.Get(end)->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&CountHop));
        }
        const auto interfaces = address.Assign(devices);
        address.NewNetwork();
        addresses.emplace(a, interfaces.GetAddress(0));
        addresses.emplace(b, interfaces.GetAddress(1));
    }
    return addresses;
}

void
BuildFlows(const std::string& file, const NodeContainer& nodes, const std::map<uint32_t, Ipv4Address>& addresses)
{
    std::map<uint32_t, uint32_t> received;
    std::ifstream lines(file);
    uint32_t source = 0;
    uint32_t sink = 0;
    double start = 0;
    int64_t bytes = 0;
    while (lines >> source >> sink >> start >> bytes)
    {
        const auto port = static_cast<uint16_t>(kFirstPort + received[sink]++ % kPorts);
        const InetSocketAddress destination(addresses.at(sink), port);
        PacketSinkHelper("ns3::TcpSocketFactory", destination).Install(nodes.Get(sink));
        BulkSendHelper bulk("ns3::TcpSocketFactory", destination);
        bulk.SetAttribute("SendSize", UintegerValue(kWireBytes - kHeaderBytes));
        bulk.SetAttribute("MaxBytes", UintegerValue(bytes < 0 ? 0 : bytes));
        bulk.Install(nodes.Get(source)).Start(Seconds(start));
    }
}

} // namespace

int
main(int argc, char** argv)
{
    std::string links;
    std::string flows;
    double seconds = 1;
    uint32_t count = 2;
    uint32_t bufferBytes = 16u << 20;
    CommandLine line;
    line.AddValue("links", "file of links", links);
    line.AddValue("flows", "file of flows", flows);
    line.AddValue("nodes", "number of nodes", count);
    line.AddValue("seconds", "simulated seconds", seconds);
    line.AddValue("buffer", "bytes of a socket's buffers", bufferBytes);
    line.Parse(argc, argv);
    SetDefaults(bufferBytes);

    NodeContainer nodes;
    nodes.Create(count);
    InternetStackHelper stack;
    stack.SetRoutingHelper(Ipv4NixVectorHelper());
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    BuildFlows(flows, nodes, BuildLinks(links, nodes));

    const auto began = CpuSeconds();
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    const auto spent = CpuSeconds() - began;
    std::cout << "{\"packet_hops\": " << g_packetHops << ", \"cpu_seconds\": " << spent << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
