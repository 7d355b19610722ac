// One bulk TCP flow across a network whose routers spray packets over equal-cost paths, in ns-3; prints one line of JSON.
//
// Links are given one by one, "from:to:delay in ns", so that the caller decides on the topology; a packet takes a path of the
// fewest hops. Where several next hops are on one, --select says which: "first"; "random" or "round-robin", for each packet; or
// "global": those of ns-3's own Ipv4GlobalRouting with RandomEcmpRouting. All else is ns-3's default, and can be
// changed by ns-3's own arguments: --ns3::TcpSocket::SegmentSize=1460. Rates are over the second that ends at each
// whole second: payload that the application received in order, and bytes of IP that reached the receiving node,
// duplicates and all.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t kPort = 9;

/// A link as a router sees it.
struct Hop
{
    uint32_t neighbour;
    uint32_t interface;
    Ipv4Address source;
    Ipv4Address gateway;
};

/// The hops of every node, and whose an address is.
std::vector<std::vector<Hop>> g_hops;
std::map<Ipv4Address, uint32_t> g_owner;

/// Forwards along paths of the fewest hops, by one selector everywhere.
class SprayRouting : public Ipv4RoutingProtocol
{
  public:
    enum Selector
    {
        FIRST,
        RANDOM,
        ROUND_ROBIN
    };

    SprayRouting(uint32_t node, Selector selector)
        : m_node(node),
          m_selector(selector),
          m_random(CreateObject<UniformRandomVariable>())
    {
    }

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>,
                               const Ipv4Header& header,
                               Ptr<NetDevice>,
                               Socket::SocketErrno& error) override
    {
        const auto route = Choose(header.GetDestination());
        error = route ? Socket::ERROR_NOTERROR : Socket::ERROR_NOROUTETOHOST;
        return route;
    }

    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice> device,
                    UnicastForwardCallback forward,
                    MulticastForwardCallback,
                    LocalDeliverCallback deliver,
                    ErrorCallback) override
    {
        const auto interface = m_ipv4->GetInterfaceForDevice(device);
        if (m_ipv4->IsDestinationAddress(header.GetDestination(), interface))
        {
            deliver(packet, header, interface);
            return true;
        }
        const auto route = Choose(header.GetDestination());
        if (route)
        {
            forward(route, packet, header);
        }
        return route != nullptr;
    }

    void NotifyInterfaceUp(uint32_t) override
    {
    }

    void NotifyInterfaceDown(uint32_t) override
    {
    }

    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }

    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }

    void SetIpv4(Ptr<Ipv4> ipv4) override
    {
        m_ipv4 = ipv4;
    }

    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override
    {
    }

  private:
    struct Next
    {
        std::vector<Hop> hops;
        std::size_t turn = 0;
    };

    Ptr<Ipv4Route> Choose(Ipv4Address destination)
    {
        const auto owner = g_owner.find(destination);
        if (owner == g_owner.end())
        {
            return nullptr;
        }
        auto& next = m_next[owner->second];
        if (next.hops.empty())
        {
            next.hops = Shortest(owner->second);
        }
        std::size_t index = 0;
        if (m_selector == RANDOM)
        {
            index = m_random->GetInteger(0, next.hops.size() - 1);
        }
        else if (m_selector == ROUND_ROBIN)
        {
            index = next.turn++ % next.hops.size();
        }
        const auto& hop = next.hops[index];
        const auto route = Create<Ipv4Route>();
        route->SetDestination(destination);
        route->SetSource(hop.source);
        route->SetGateway(hop.gateway);
        route->SetOutputDevice(m_ipv4->GetNetDevice(hop.interface));
        return route;
    }

    /// The hops that are on a path of the fewest hops to a node.
    std::vector<Hop> Shortest(uint32_t target) const
    {
        std::vector<uint32_t> distance(g_hops.size(), g_hops.size());
        std::deque<uint32_t> queue{target};
        distance[target] = 0;
        while (!queue.empty())
        {
            const auto node = queue.front();
            queue.pop_front();
            for (const auto& hop : g_hops[node])
            {
                if (distance[hop.neighbour] > distance[node] + 1)
                {
                    distance[hop.neighbour] = distance[node] + 1;
                    queue.push_back(hop.neighbour);
                }
            }
        }
        std::vector<Hop> shortest;
        std::copy_if(g_hops[m_node].begin(),
                     g_hops[m_node].end(),
                     std::back_inserter(shortest),
                     [&](const Hop& hop) { return distance[hop.neighbour] + 1 == distance[m_node]; });
        return shortest;
    }

    uint32_t m_node;
    Selector m_selector;
    Ptr<UniformRandomVariable> m_random;
    Ptr<Ipv4> m_ipv4;
    std::map<uint32_t, Next> m_next;
};

struct Options
{
    std::string links;
    uint32_t source = 0;
    uint32_t sink = 1;
    std::string rate = "10Mbps";
    std::string congestion = "ns3::TcpNewReno";
    std::string select = "random";
    bool queueDisc = true;
    double seconds = 30;
    uint32_t seed = 1;
};

struct Count
{
    uint64_t sent = 0;
    uint64_t retransmitted = 0;
    uint64_t recoveries = 0;
    uint64_t timeouts = 0;
    uint64_t drops = 0;
    uint64_t arrivedBytes = 0;
    SequenceNumber32 highest{1};
};

Count g_count;

void
OnSend(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>)
{
    if (packet->GetSize() == 0)
    {
        return;
    }
    ++g_count.sent;
    if (header.GetSequenceNumber() < g_count.highest)
    {
        ++g_count.retransmitted;
    }
    g_count.highest = std::max(g_count.highest, header.GetSequenceNumber() + packet->GetSize());
}

void
OnIp(Ptr<const Packet> packet, Ptr<Ipv4>, uint32_t)
{
    g_count.arrivedBytes += packet->GetSize();
}

void
OnState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t state)
{
    g_count.recoveries += state == TcpSocketState::CA_RECOVERY;
    g_count.timeouts += state == TcpSocketState::CA_LOSS;
}

void
CountDrop(Ptr<const Packet>)
{
    ++g_count.drops;
}

void
CountItemDrop(Ptr<const QueueDiscItem>)
{
    ++g_count.drops;
}

void
TraceSender(Ptr<BulkSendApplication> sender)
{
    const auto socket = sender->GetSocket();
    socket->TraceConnectWithoutContext("Tx", MakeCallback(&OnSend));
    socket->TraceConnectWithoutContext("CongState", MakeCallback(&OnState));
}

struct Rates
{
    std::vector<double> goodput;
    std::vector<double> arrived;
    uint64_t payload = 0;
    uint64_t bytes = 0;
};

void
Sample(Ptr<PacketSink> sink, Rates* rates)
{
    rates->goodput.push_back((sink->GetTotalRx() - rates->payload) * 8.0);
    rates->arrived.push_back((g_count.arrivedBytes - rates->bytes) * 8.0);
    rates->payload = sink->GetTotalRx();
    rates->bytes = g_count.arrivedBytes;
    Simulator::Schedule(Seconds(1), &Sample, sink, rates);
}

Options
ReadOptions(int argc, char** argv)
{
    Options options;
    CommandLine line;
    line.AddValue("links", "from:to:delay in ns, separated by commas", options.links);
    line.AddValue("source", "the sending node", options.source);
    line.AddValue("sink", "the receiving node", options.sink);
    line.AddValue("rate", "rate of every link", options.rate);
    line.AddValue("congestion", "TypeId of the congestion control", options.congestion);
    line.AddValue("select", "first, random, round-robin or global", options.select);
    line.AddValue("queue-disc", "put ns-3's default queue disc before every device", options.queueDisc);
    line.AddValue("seconds", "simulated seconds", options.seconds);
    line.AddValue("seed", "run number of the random streams", options.seed);
    line.Parse(argc, argv);
    return options;
}

/// The numbers of one link.
std::vector<uint64_t>
Split(const std::string& text)
{
    std::vector<uint64_t> numbers;
    std::istringstream stream(text);
    for (std::string number; std::getline(stream, number, ':');)
    {
        numbers.push_back(std::stoull(number));
    }
    NS_ABORT_MSG_IF(numbers.size() != 3, "a link is from:to:delay, not " << text);
    return numbers;
}

void
BuildNetwork(const Options& options, const NodeContainer& nodes)
{
    g_hops.resize(nodes.GetN());
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.252");
    std::istringstream stream(options.links);
    for (std::string text; std::getline(stream, text, ',');)
    {
        const auto numbers = Split(text);
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue(options.rate));
        link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(numbers[2])));
        if (!options.queueDisc)
        {
            link.DisableFlowControl();
        }
        const auto devices = link.Install(nodes.Get(numbers[0]), nodes.Get(numbers[1]));
        const auto interfaces = address.Assign(devices);
        address.NewNetwork();
        for (uint32_t end = 0; end < 2; ++end)
        {
            const auto [ip, index] = interfaces.Get(end);
            const auto own = interfaces.GetAddress(end);
            const auto neighbour = static_cast<uint32_t>(numbers[1 - end]);
            g_hops[numbers[end]].push_back({neighbour, index, own, interfaces.GetAddress(1 - end)});
            g_owner[own] = numbers[end];
            DynamicCast<PointToPointNetDevice>(devices.Get(end))
                ->GetQueue()
                ->TraceConnectWithoutContext("Drop", MakeCallback(&CountDrop));
            const auto layer = ip->GetObject<TrafficControlLayer>();
            if (const auto disc = layer->GetRootQueueDiscOnDevice(devices.Get(end)))
            {
                disc->TraceConnectWithoutContext("Drop", MakeCallback(&CountItemDrop));
            }
        }
    }
    if (options.select == "global")
    {
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
        return;
    }
    const auto selector = options.select == "first"    ? SprayRouting::FIRST
                          : options.select == "random" ? SprayRouting::RANDOM
                                                       : SprayRouting::ROUND_ROBIN;
    for (uint32_t node = 0; node < nodes.GetN(); ++node)
    {
        nodes.Get(node)->GetObject<Ipv4>()->SetRoutingProtocol(CreateObject<SprayRouting>(node, selector));
    }
}

uint32_t
CountNodes(const std::string& links)
{
    uint64_t most = 0;
    std::istringstream stream(links);
    for (std::string text; std::getline(stream, text, ',');)
    {
        const auto numbers = Split(text);
        most = std::max({most, numbers[0], numbers[1]});
    }
    return most + 1;
}

void
PrintList(const std::vector<double>& values)
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
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(options.congestion)));
    Config::SetDefault("ns3::Ipv4GlobalRouting::RandomEcmpRouting", BooleanValue(true));
    RngSeedManager::SetRun(options.seed);

    NodeContainer nodes;
    nodes.Create(CountNodes(options.links));
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    BuildNetwork(options, nodes);

    const auto receiver = nodes.Get(options.sink);
    const auto ip = receiver->GetObject<Ipv4>();
    ip->TraceConnectWithoutContext("Rx", MakeCallback(&OnIp));
    const InetSocketAddress destination(ip->GetAddress(1, 0).GetLocal(), kPort);
    PacketSinkHelper sinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), kPort));
    const auto sink = DynamicCast<PacketSink>(sinkHelper.Install(receiver).Get(0));
    BulkSendHelper bulk("ns3::TcpSocketFactory", destination);
    const auto sender = DynamicCast<BulkSendApplication>(bulk.Install(nodes.Get(options.source)).Get(0));
    sender->SetStartTime(Seconds(0));
    Simulator::Schedule(NanoSeconds(1), &TraceSender, sender);
    Rates rates;
    Simulator::Schedule(Seconds(1), &Sample, sink, &rates);

    Simulator::Stop(Seconds(options.seconds) + NanoSeconds(1));
    Simulator::Run();

    std::cout.precision(12);
    std::cout << "{\"goodput_bps\": ";
    PrintList(rates.goodput);
    std::cout << ", \"arrived_bps\": ";
    PrintList(rates.arrived);
    std::cout << ", \"sent\": " << g_count.sent << ", \"retransmitted\": " << g_count.retransmitted
              << ", \"recoveries\": " << g_count.recoveries
              << ", \"timeouts\": " << g_count.timeouts << ", \"drops\": " << g_count.drops
              << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
