// SPDX-License-Identifier: Apache-2.0
#include "lease/sessions/session_lease_store.hpp"

#include "core/overloaded.hpp"
#include "core/require.hpp"
#include "lease/sessions/session_desk.hpp"
#include "runtime/fork_watch.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast::session {

session_lease_store::session_lease_store(connection_maker make, session_options options,
                                         clock& time)
    : desk_(std::make_shared<desk>(std::move(make), std::move(options), time)),
      generation_(detail::fork_generation()),
      lane_([this](auto requests, auto replies, time_point give_up) {
          exchange(requests, replies, give_up);
      }) {}

// A child of fork() leaves the connections where they are: closing them would end its parent's
// sessions. It has no threads to wait for.
session_lease_store::~session_lease_store() {
    if (is_child()) {
        static_cast<void>(new std::shared_ptr<desk>(std::move(desk_)));
        lane_.forget();
        return;
    }
    desk_->close();
}

bool session_lease_store::is_child() const noexcept {
    return detail::fork_generation() != generation_;
}

capabilities session_lease_store::can() const noexcept {
    return {.pushes = true};
}

void session_lease_store::on_push(push_handler handler) {
    desk_->on_push(std::move(handler));
}

result<lease_reply> session_lease_store::serve(const lease_request& request, time_point give_up) {
    if (is_child()) {
        return fail(errc::invalid_argument,
                    "this is a child of the process that opened the database: open it again");
    }
    const auto mode = std::visit([](const auto& asked) { return asked.mode.type; }, request);
    if (mode != lease_mode::kind::exclusive) {
        return fail(errc::unsupported, "mode=session has exclusive leases only");
    }
    return std::visit(detail::overloaded{
                          [&](const ask::acquire& asked) { return desk_->acquire(asked, give_up); },
                          [&](const ask::renew& asked) {
                              return result<lease_reply>(desk_->renew(asked, give_up));
                          },
                          [&](const auto& asked) {
                              return result<lease_reply>(
                                  answer::released{desk_->end(asked.name, asked.owner, give_up)});
                          },
                      },
                      request);
}

void session_lease_store::exchange(std::span<const lease_request> requests,
                                   std::span<result<lease_reply>> replies, time_point give_up) {
    detail::require(replies.size() == requests.size(), "replies.size() == requests.size()");
    for (std::size_t i = 0; i < requests.size(); ++i) replies[i] = serve(requests[i], give_up);
}

void session_lease_store::submit(std::vector<lease_request> requests, time_point give_up,
                                 reply_handler on_reply) {
    if (!is_child()) {
        lane_.add({std::move(requests), give_up, std::move(on_reply)});
        return;
    }
    for (std::size_t i = 0; i < requests.size(); ++i) on_reply(i, serve(requests[i], give_up));
}

result<std::vector<lease_info>> session_lease_store::list(std::string_view /*prefix*/,
                                                          time_point /*give_up*/) {
    return fail(errc::unsupported,
                "mode=session keeps locks in the server's sessions, which cannot be listed by "
                "name");
}

}  // namespace holdfast::session
