// SPDX-License-Identifier: Apache-2.0
#include "checkers/event_log.hpp"

#include "core/overloaded.hpp"

#include <holdfast/error.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace holdfast::sim {
namespace {

template <class... Words>
void write(moment at, fmt::format_string<Words...> text, Words&&... words) {
    fmt::print("{:>12.3f} ms  {}\n", static_cast<double>(at.count()) / 1e6,
               fmt::format(text, std::forward<Words>(words)...));
}

// The last digits are enough to tell owners apart.
std::string_view tail(const owner_token& owner) {
    return std::string_view(owner.value()).substr(26);
}

std::string show(const lease_request& request) {
    return std::visit(detail::overloaded{
                          [](const ask::acquire& a) {
                              return fmt::format(
                                  "acquire {} {}{}{}", a.name.value(), tail(a.owner),
                                  a.otherwise == ask::when_busy::refuse ? " once" : "",
                                  a.barge ? " barging" : "");
                          },
                          [](const ask::renew& a) {
                              return fmt::format("renew {} {}", a.name.value(), tail(a.owner));
                          },
                          [](const ask::release& a) {
                              return fmt::format("release {} {}", a.name.value(), tail(a.owner));
                          },
                          [](const ask::leave& a) {
                              return fmt::format("leave {} {}", a.name.value(), tail(a.owner));
                          },
                      },
                      request);
}

std::string show(const result<lease_reply>& reply) {
    if (!reply) return to_string(reply.error());
    return std::visit(
        detail::overloaded{
            [](const answer::granted& a) { return fmt::format("granted {}", a.fence.value); },
            [](const answer::busy& a) {
                return fmt::format("busy, {} ahead, latest {}", a.ahead, a.latest.value);
            },
            [](const answer::renewed&) { return std::string("renewed"); },
            [](const answer::released& a) {
                return std::string(a.found ? "released" : "nothing there");
            },
            [](const answer::lost&) { return std::string("lost"); },
        },
        *reply);
}

std::string_view show(const std::optional<errc>& problem) {
    return problem ? to_string(*problem) : "ok";
}

}  // namespace

void event_log::see(const seen::call_began& e) {
    write(e.at, "process {} call {} acquires {}{}", e.process, e.call, e.name,
          e.waits ? "" : " once");
}
void event_log::see(const seen::call_ended& e) {
    write(e.at, "call {} returns: {}", e.call, show(e.problem));
}
void event_log::see(const seen::holding_began& e) {
    write(e.at, "process {} holds {} as {}, fence {}", e.process, e.name, e.holding, e.fence.value);
}
void event_log::see(const seen::holding_ended& e) {
    write(e.at, "holding {} ends{}", e.holding, e.lost ? ", it was lost" : "");
}
void event_log::see(const seen::release_ended& e) {
    write(e.at, "release of holding {}: {}", e.holding, show(e.problem));
}
void event_log::see(const seen::process_crashed& e) {
    write(e.at, "process {} is gone", e.process);
}
void event_log::see(const seen::request_sent& e) {
    write(e.at, "process {} asks: {}", e.process, show(e.request));
}
void event_log::see(const seen::request_answered& e) {
    write(e.at, "process {} asked: {}: {}", e.process, show(e.request), show(e.reply));
}
void event_log::see(const seen::node_asked& e) {
    write(e.at, "  process {} to server {}: {}", e.process, e.node, show(e.request));
}
void event_log::see(const seen::node_answered& e) {
    write(e.at, "  server {} to process {}: {}: {}", e.node, e.process, show(e.request),
          show(e.reply));
}
void event_log::see(const seen::push_heard& e) {
    write(e.at, "process {} hears: {} has fence {}", e.process, tail(e.given.owner),
          e.given.fence.value);
}
void event_log::see(const seen::process_disturbed& e) {
    write(e.at, "process {} is disturbed", e.process);
}
void event_log::see(const seen::servers_disturbed& e) {
    write(e.at, "servers are disturbed");
}
void event_log::see(const seen::clock_set& e) {
    write(e.at, "a server's clock is set by {}",
          std::chrono::round<std::chrono::milliseconds>(e.by));
}
void event_log::see(const seen::resource_used& e) {
    write(e.at, "holding {} {} {} with fence {}: {}", e.holding, e.writes ? "writes" : "reads",
          e.name, e.fence.value, e.accepted ? "accepted" : "refused");
}

}  // namespace holdfast::sim
