// TCP flows over explicit routes, in htsim; prints one line of JSON.
//
//   flows FILE
//
// The file has a statement a line, times in picoseconds:
//   end TIME
//   segment PAYLOAD HEADER                  bytes of every segment
//   link BITS-PER-SECOND DELAY PACKETS LOSS a directed link: its queue without the packet being sent, the share of packets lost
//   path LINKS LINK...                      links in order, numbered from 0
//   flow START BYTES PATHS PATH... PATHS PATH...
//                                           in order of time; paths there and back, which packets take in turn; -1 bytes for no end
//
// htsim's TCP has no SACK and sends segments of one size, header included. Its slow start ends at 100 segments, htsim's default:
// without SACK, recovery from an overshoot would last for seconds. The first timeout is the engine's, 1 s.

#include "eventlist.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace
{

uint64_t g_packetHops = 0;
const mem_b kNoLimit = mem_b(1) << 60;

/// A drop-tail queue whose limit counts packets. Counts what leaves it, and keeps no record of its utilisation, which nothing here reads.
class PacketQueue : public Queue
{
  public:
    PacketQueue(linkspeed_bps rate, size_t packets, EventList& events) : Queue(rate, kNoLimit, events, nullptr), limit(packets)
    {
    }

    void receivePacket(Packet& packet) override
    {
        if (size_t(_enqueued.size()) > limit)
        {
            packet.free();
            return;
        }
        Queue::receivePacket(packet);
    }

  protected:
    void completeService() override
    {
        ++g_packetHops;
        Packet* packet = _enqueued.pop();
        _queuesize -= packet->size();
        packet->sendOn();
        if (!_enqueued.empty())
            beginService();
    }

  private:
    size_t limit;
};

/// Loses packets at random.
class Loss : public PacketSink
{
  public:
    explicit Loss(double ratio) : ratio(ratio)
    {
    }

    void receivePacket(Packet& packet) override
    {
        if (drand() < ratio)
            packet.free();
        else
            packet.sendOn();
    }

    const string& nodename() override
    {
        return name;
    }

  private:
    double ratio;
    string name = "loss";
};

/// Sends packets over several routes in turn.
class Sprayer : public PacketSink
{
  public:
    explicit Sprayer(const vector<const Route*>& routes) : routes(routes)
    {
    }

    void receivePacket(Packet& packet) override
    {
        packet.set_route(*routes[next]);
        next = (next + 1) % routes.size();
        packet.sendOn();
    }

    const string& nodename() override
    {
        return name;
    }

  private:
    vector<const Route*> routes;
    size_t next = 0;
    string name = "sprayer";
};

/// Starts flows in the order of their times, so that those to come do not lengthen the list of events.
class Starter : public EventSource
{
  public:
    struct Flow
    {
        TcpSrc* source;
        TcpSink* sink;
        const Route* there;
        const Route* back;
        simtime_picosec start;
        uint64_t bytes;
    };

    Starter(const vector<Flow>& flows, EventList& events) : EventSource(events, "starter"), flows(flows)
    {
        eventlist().sourceIsPending(*this, flows[0].start);
    }

    void doNextEvent() override
    {
        const Flow& flow = flows[next];
        flow.source->connect(*flow.there, *flow.back, *flow.sink, flow.start);
        if (++next < flows.size())
            eventlist().sourceIsPending(*this, flows[next].start);
    }

  private:
    const vector<Flow>& flows;
    size_t next = 0;
};

typedef vector<PacketSink*> Hops;

/// The paths of the next words, to this end; by a sprayer if there are several.
const Route& ReadRoute(istream& words, const vector<Hops>& paths, PacketSink& end)
{
    size_t count = 0;
    words >> count;
    vector<const Route*> routes;
    for (size_t path = 0; count > 0 && words >> path; --count)
    {
        Route* route = new Route();
        for (PacketSink* hop : paths.at(path))
            route->push_back(hop);
        route->push_back(&end);
        routes.push_back(route);
    }
    if (routes.size() == 1)
        return *routes[0];
    Route* route = new Route();
    route->push_back(new Sprayer(routes));
    return *route;
}

} // namespace

int main(int argc, char** argv)
{
    ifstream words(argc == 2 ? argv[1] : "");
    EventList& events = EventList::getTheEventList();
    TcpRtxTimerScanner* timers = nullptr;
    uint64_t payload = 0;
    uint64_t wire = 0;
    vector<Hops> links;
    vector<Hops> paths;
    vector<Starter::Flow> flows;
    string kind;
    while (words >> kind)
    {
        if (kind == "end")
        {
            simtime_picosec end = 0;
            words >> end;
            EventList::setEndtime(end);
            timers = new TcpRtxTimerScanner(timeFromMs(10), events);
        }
        else if (kind == "segment")
        {
            uint64_t header = 0;
            words >> payload >> header;
            wire = payload + header;
            Packet::set_packet_size(int(wire));
        }
        else if (kind == "link")
        {
            linkspeed_bps rate = 0;
            simtime_picosec delay = 0;
            size_t packets = 0;
            double loss = 0;
            words >> rate >> delay >> packets >> loss;
            Hops hops(1, new PacketQueue(rate, packets, events));
            if (loss > 0)
                hops.push_back(new Loss(loss));
            hops.push_back(new Pipe(delay, events));
            links.push_back(hops);
        }
        else if (kind == "path")
        {
            size_t count = 0;
            words >> count;
            Hops hops;
            for (size_t link = 0; count > 0 && words >> link; --count)
                hops.insert(hops.end(), links.at(link).begin(), links.at(link).end());
            paths.push_back(hops);
        }
        else if (kind == "flow")
        {
            simtime_picosec start = 0;
            int64_t bytes = 0;
            words >> start >> bytes;
            TcpSrc* source = new TcpSrc(nullptr, nullptr, events);
            TcpSink* sink = new TcpSink();
            source->_rto = timeFromSec(1);
            if (bytes >= 0) // a packet is sent while what has been sent is at most this and one byte; the SYN is a byte, too
                source->_flow_size = (bytes + payload - 1) / payload * wire - 1;
            const Route& there = ReadRoute(words, paths, *sink);
            const Route& back = ReadRoute(words, paths, *source);
            timers->registerTcp(*source);
            flows.push_back({source, sink, &there, &back, start, uint64_t(bytes)});
        }
    }
    if (flows.empty())
    {
        cerr << "no flow in the file" << endl;
        return 1;
    }

    Starter starter(flows, events);
    cout.setstate(ios::failbit); // TCP prints every timeout and every end
    const clock_t began = clock();
    while (EventList::doNextEvent())
    {
    }
    const double spent = double(clock() - began) / CLOCKS_PER_SEC;
    cout.clear();
    uint64_t delivered = 0;
    for (const Starter::Flow& flow : flows)
        delivered += min(flow.sink->_cumulative_ack / wire * payload, flow.bytes);
    cout << "{\"packet_hops\": " << g_packetHops << ", \"cpu_seconds\": " << spent << ", \"delivered_bytes\": " << delivered << "}"
         << endl;
    return 0;
}
