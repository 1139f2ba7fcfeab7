// SPDX-License-Identifier: Apache-2.0
#include "driver/zookeeper/zookeeper_session.hpp"

#include "core/to_ms.hpp"

#include <fmt/format.h>

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace holdfast::zookeeper {
namespace {

outcome outcome_of(int rc) {
    switch (rc) {
        case ZOK: return outcome::done;
        case ZNONODE: return outcome::no_node;
        case ZNODEEXISTS: return outcome::exists;
        case ZNOTEMPTY: return outcome::not_empty;
        case ZCONNECTIONLOSS:
        case ZOPERATIONTIMEOUT:
        case ZSESSIONMOVED: return outcome::no_connection;
        case ZSESSIONEXPIRED:
        case ZINVALIDSTATE:
        case ZCLOSING: return outcome::session_over;
        case ZNOAUTH: return outcome::denied;
        case ZAUTHFAILED:
        case ZSESSIONCLOSEDREQUIRESASLAUTH: return outcome::login_refused;
        case ZUNIMPLEMENTED: return outcome::unsupported;
        default: return outcome::failed;
    }
}

int mode_of(node_kind kind) {
    switch (kind) {
        case node_kind::persistent: return ZOO_PERSISTENT;
        case node_kind::container: return ZOO_CONTAINER;
        case node_kind::ephemeral: return ZOO_EPHEMERAL;
        case node_kind::ephemeral_sequential: return ZOO_EPHEMERAL_SEQUENTIAL;
    }
    std::unreachable();
}

std::string server_list(const zookeeper_options& options) {
    std::string all;
    for (const zookeeper_endpoint& one : options.servers) {
        const bool v6 = one.host.find(':') != std::string::npos;
        fmt::format_to(std::back_inserter(all), "{}{}{}{}:{}", all.empty() ? "" : ",",
                       v6 ? "[" : "", one.host, v6 ? "]" : "", one.port);
    }
    return all;
}

// What the library says goes nowhere: it would be standard error.
void ignore_log(const char* /*message*/) {}

}  // namespace

/// A request on its way through the library.
struct zookeeper_session::in_library {
    zookeeper_session* session;
    pending<answered> answer;
    std::uint64_t number;
    std::vector<zoo_op_t> changes = {};
    std::vector<zoo_op_result_t> results = {};
    std::string made_path = {};

    void end(int rc, answered said) {
        said.is = outcome_of(rc);
        if (rc != ZOK) said.why = zerror(rc);
        session->land(number);
        const pending<answered> told = answer;
        delete this;
        told.complete(std::move(said));
    }
};

/// The functions that the library calls.
struct library_calls {
    static zookeeper_session::in_library* flight_of(const void* data) {
        return static_cast<zookeeper_session::in_library*>(const_cast<void*>(data));
    }
    static void with_stat(answered& said, const Stat* stat) {
        if (stat == nullptr) return;
        said.stat = {static_cast<std::uint64_t>(stat->czxid), stat->ephemeralOwner};
    }

    static void on_done(int rc, const void* data) { flight_of(data)->end(rc, {}); }
    static void on_made(int rc, const char* path, const Stat* stat, const void* data) {
        answered said;
        if (path != nullptr) said.text = path;
        with_stat(said, stat);
        flight_of(data)->end(rc, std::move(said));
    }
    static void on_written(int rc, const Stat* stat, const void* data) {
        answered said;
        with_stat(said, stat);
        flight_of(data)->end(rc, std::move(said));
    }
    static void on_data(int rc, const char* value, int length, const Stat* stat, const void* data) {
        answered said;
        if (value != nullptr && length > 0) said.text.assign(value, std::size_t(length));
        with_stat(said, stat);
        flight_of(data)->end(rc, std::move(said));
    }
    static void on_children(int rc, const String_vector* names, const void* data) {
        answered said;
        if (names != nullptr) said.names.assign(names->data, names->data + names->count);
        flight_of(data)->end(rc, std::move(said));
    }
    static void on_synced(int rc, const char* /*path*/, const void* data) {
        flight_of(data)->end(rc, {});
    }

    // Every watch hears of the connection as well.
    static void on_watch(zhandle_t* handle, int type, int /*state*/, const char* /*path*/,
                         void* context) {
        if (type == ZOO_SESSION_EVENT) return;
        auto* const session =
            static_cast<zookeeper_session*>(const_cast<void*>(zoo_get_context(handle)));
        if (session != nullptr) session->hear_watch(reinterpret_cast<std::uintptr_t>(context));
    }
    static void on_state(zhandle_t* /*handle*/, int type, int state, const char* /*path*/,
                         void* context) {
        if (type != ZOO_SESSION_EVENT || context == nullptr) return;
        static_cast<zookeeper_session*>(context)->hear_state(state);
    }

    static int begin(zhandle_t* handle, const request& asked, const ACL_vector* acl,
                     zookeeper_session::in_library* flight) {
        const char* const path = asked.path.c_str();
        void* const watch = reinterpret_cast<void*>(asked.watch);
        const watcher_fn on = asked.watch != 0 ? on_watch : nullptr;
        const auto length = static_cast<int>(asked.data.size());
        switch (asked.what) {
            case request::kind::make:
                return zoo_acreate2(handle, path, asked.data.data(), length, acl, mode_of(asked.as),
                                    on_made, flight);
            case request::kind::remove: return zoo_adelete(handle, path, -1, on_done, flight);
            case request::kind::write:
                return zoo_aset(handle, path, asked.data.data(), length, -1, on_written, flight);
            case request::kind::get: return zoo_awget(handle, path, on, watch, on_data, flight);
            case request::kind::children:
                return zoo_awget_children(handle, path, on, watch, on_children, flight);
            case request::kind::sync: return zoo_async(handle, path, on_synced, flight);
            case request::kind::several: return begin_several(handle, asked, acl, flight);
        }
        std::unreachable();
    }
    static int begin_several(zhandle_t* handle, const request& asked, const ACL_vector* acl,
                             zookeeper_session::in_library* flight) {
        flight->changes.resize(asked.changes.size());
        flight->results.resize(asked.changes.size());
        flight->made_path.resize(2048);
        for (std::size_t i = 0; i < asked.changes.size(); ++i) {
            const node_change& one = asked.changes[i];
            if (one.what == node_change::kind::remove) {
                zoo_delete_op_init(&flight->changes[i], one.path.c_str(), -1);
                continue;
            }
            zoo_create_op_init(&flight->changes[i], one.path.c_str(), one.data.data(),
                               static_cast<int>(one.data.size()), acl, mode_of(one.as),
                               flight->made_path.data(),
                               static_cast<int>(flight->made_path.size()));
        }
        return zoo_amulti(handle, static_cast<int>(flight->changes.size()), flight->changes.data(),
                          flight->results.data(), on_done, flight);
    }
};

zookeeper_session::zookeeper_session(duration asked, clock& time, event_handler on_event)
    : clock_(time), asked_timeout_(asked), on_event_(std::move(on_event)) {}

zookeeper_session::~zookeeper_session() {
    close();
}

result<std::shared_ptr<zookeeper_session>> zookeeper_session::open(const zookeeper_options& options,
                                                                   duration timeout, clock& time,
                                                                   event_handler on_event) {
    const std::shared_ptr<zookeeper_session> made(
        new zookeeper_session(timeout, time, std::move(on_event)));
    const std::string servers = server_list(options);
    const std::scoped_lock guard(made->mutex_);  // events may come before there is a handle
    made->handle_ = zookeeper_init2(servers.c_str(), library_calls::on_state,
                                    static_cast<int>(detail::to_ms(timeout)), nullptr, made.get(),
                                    ZOO_NO_LOG_CLIENTENV, ignore_log);
    if (made->handle_ == nullptr) {
        return fail(errc::unavailable,
                    fmt::format("zookeeper: the servers {} cannot be found: {}: check the names",
                                servers, std::strerror(errno)));
    }
    if (!options.user.empty()) {
        const std::string secret = options.user + ":" + options.password;
        made->open_acl_ = false;
        zoo_add_auth(made->handle_, "digest", secret.data(), static_cast<int>(secret.size()),
                     nullptr, nullptr);
    }
    return made;
}

void zookeeper_session::hear_state(int state) {
    session_event event = session_event::suspended;
    if (state == ZOO_CONNECTED_STATE) event = session_event::connected;
    if (state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE) {
        event = session_event::over;
        login_refused_ = state == ZOO_AUTH_FAILED_STATE;
        over_ = true;
    }
    std::vector<waiting> told;
    {
        const std::scoped_lock guard(mutex_);
        if (event != session_event::suspended) told.swap(waiting_);
    }
    for (const waiting& one : told) one.answer.complete(event == session_event::connected);
    if (const auto self = weak_from_this().lock(); self && on_event_) on_event_(self, event);
}

std::uintptr_t zookeeper_session::watch(watch_handler handler) {
    const std::scoped_lock guard(mutex_);
    watches_.emplace(next_watch_, std::move(handler));
    return next_watch_++;
}

void zookeeper_session::unwatch(std::uintptr_t id) {
    const std::scoped_lock guard(mutex_);
    watches_.erase(id);
}

void zookeeper_session::hear_watch(std::uintptr_t id) {
    watch_handler handler;
    {
        const std::scoped_lock guard(mutex_);
        const auto found = watches_.find(id);
        if (found == watches_.end()) return;
        handler = std::move(found->second);
        watches_.erase(found);
    }
    handler();
}

void zookeeper_session::land(std::uint64_t number) {
    const std::scoped_lock guard(mutex_);
    in_flight_.erase(number);
}

auto zookeeper_session::send(request asked, time_point give_up) -> pending<answered> {
    const pending<answered> answer;
    int rc = ZINVALIDSTATE;
    {
        const std::scoped_lock guard(mutex_);
        if (handle_ != nullptr) {
            const std::uint64_t number = next_flight_++;
            auto* const flight = new in_library{this, answer, number};
            in_flight_.emplace(number, zookeeper_session::flight{answer, give_up});
            rc = library_calls::begin(
                handle_, asked, open_acl_ ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL, flight);
            if (rc != ZOK) {
                in_flight_.erase(number);
                delete flight;
            }
        }
    }
    // Not before it is in the list: whoever looks there in between would not see it.
    if (rc == ZOK && on_deadline_) on_deadline_(give_up);
    if (rc != ZOK) {
        answered said{.is = outcome_of(rc)};
        said.why = zerror(rc);
        if (login_refused_) said.is = outcome::login_refused;
        answer.complete(std::move(said));
    }
    return answer;
}

auto zookeeper_session::connected(time_point give_up) -> pending<bool> {
    const pending<bool> answer;
    bool now = false;
    bool later = false;
    {
        // The library says that it is connected before it tells so: nobody waits for an event that
        // has been.
        const std::scoped_lock guard(mutex_);
        now = handle_ != nullptr && zoo_state(handle_) == ZOO_CONNECTED_STATE;
        later = !now && handle_ != nullptr && !over_ && clock_.now() < give_up;
        if (later) waiting_.push_back({answer, give_up});
    }
    if (later && on_deadline_) on_deadline_(give_up);  // after the list has it, as in send()
    if (!later) answer.complete(now);
    return answer;
}

answered zookeeper_session::no_connection() const {
    answered said;
    if (is_over()) said.is = outcome::session_over;
    if (login_refused_) said.is = outcome::login_refused;
    return said;
}

auto zookeeper_session::call(std::shared_ptr<zookeeper_session> self, request asked,
                             time_point give_up, if_lost then) -> pending<answered> {
    for (bool doubt = false;; doubt = true) {
        pending<bool> connecting = self->connected(give_up);
        const bool ready = co_await connecting;
        if (!ready) {
            answered said = self->no_connection();
            if (doubt && said.is == outcome::not_sent) said.is = outcome::timed_out;
            said.doubt = doubt;
            co_return said;
        }
        pending<answered> asking = self->send(asked, give_up);
        answered said = co_await asking;
        if (said.is != outcome::no_connection || then == if_lost::stop) {
            said.doubt = said.doubt || doubt || said.is == outcome::no_connection ||
                         said.is == outcome::timed_out;
            co_return said;
        }
    }
}

std::int64_t zookeeper_session::id() const {
    const std::scoped_lock guard(mutex_);
    return handle_ == nullptr ? 0 : zoo_client_id(handle_)->client_id;
}

duration zookeeper_session::timeout() const {
    const std::scoped_lock guard(mutex_);
    return std::chrono::milliseconds(handle_ == nullptr ? 0 : zoo_recv_timeout(handle_));
}

time_point zookeeper_session::expire_overdue(time_point now) {
    std::vector<pending<answered>> overdue;
    std::vector<pending<bool>> in_vain;
    time_point next = time_point::max();
    {
        const std::scoped_lock guard(mutex_);
        std::erase_if(in_flight_, [&](const auto& one) {
            const bool late = one.second.give_up <= now;
            if (late) overdue.push_back(one.second.answer);
            if (!late) next = std::min(next, one.second.give_up);
            return late;
        });
        std::erase_if(waiting_, [&](const waiting& one) {
            const bool late = one.give_up <= now;
            if (late) in_vain.push_back(one.answer);
            if (!late) next = std::min(next, one.give_up);
            return late;
        });
    }
    for (const auto& one : overdue) {
        answered said;
        said.is = outcome::timed_out;
        said.doubt = true;
        one.complete(std::move(said));
    }
    for (const auto& one : in_vain) one.complete(false);
    return next;
}

void zookeeper_session::close() {
    _zhandle* handle = nullptr;
    std::vector<waiting> told;
    {
        const std::scoped_lock guard(mutex_);
        handle = std::exchange(handle_, nullptr);
        told.swap(waiting_);
        watches_.clear();
        over_ = true;
    }
    for (const waiting& one : told) one.answer.complete(false);
    if (handle != nullptr) zookeeper_close(handle);
    // The library answers what is in flight. Should it forget one, nobody waits for it in vain.
    std::unordered_map<std::uint64_t, flight> left;
    {
        const std::scoped_lock guard(mutex_);
        left.swap(in_flight_);
    }
    for (const auto& [number, one] : left) {
        one.answer.complete(answered{.is = outcome::session_over});
    }
}

}  // namespace holdfast::zookeeper
