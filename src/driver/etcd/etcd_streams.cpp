// SPDX-License-Identifier: Apache-2.0
//
// The two streams of a client: one keeps its leases alive, the other carries its watches. One that
// ends is not made again by itself: whoever awaits a renewal is told, and whoever watches; both
// then ask again, which makes it anew.
#include "driver/etcd/etcd_client.hpp"

#include <utility>
#include <vector>

namespace holdfast::etcd {

// Of a lease that is kept alive twice at once, both answers are the same.
pending<called<std::int64_t>> etcd_client::keep_alive(std::int64_t lease, time_point give_up) {
    const auto timeout = std::make_shared<grpc::Alarm>();
    kept_alive one{.answer = {}, .timeout = timeout};
    const pending<called<std::int64_t>> answer = one.answer;
    std::shared_ptr<keep_alive_stream> stream;
    std::shared_ptr<keep_alive_stream> fresh;
    {
        const std::scoped_lock guard(stream_mutex_);
        if (closed_) {
            answer.complete({});
            return answer;
        }
        if (!keep_alives_) {
            // The handlers know the client weakly: a stream must not keep it alive.
            keep_alives_ = std::make_shared<keep_alive_stream>(channels_[current_]);
            fresh = keep_alives_;
        }
        stream = keep_alives_;
        awaiting_[lease].push_back(std::move(one));
    }
    // Not under the mutex: one whose time is over already fires here and now.
    // style: allow clock, because gRPC counts by this one
    timeout->Set(std::chrono::system_clock::now() + (give_up - clock_.now()),
                 [weak = weak_from_this(), lease](bool fired) {
                     const auto self = weak.lock();
                     if (fired && self) self->keep_alive_timed_out(lease);
                 });
    if (fresh) {
        const auto* const which = fresh.get();
        prepare(fresh->context());
        fresh->start("/etcdserverpb.Lease/LeaseKeepAlive",
                     {[weak = weak_from_this()](const auto& said) {
                          if (const auto self = weak.lock()) self->hear_keep_alive(said);
                      },
                      [weak = weak_from_this(), which] {
                          if (const auto self = weak.lock()) {
                              self->keep_alive_stream_ended(which);
                          }
                      }});
    }
    wire::LeaseKeepAliveRequest request;
    request.set_id(lease);
    stream->send(std::move(request));
    return answer;
}

void etcd_client::hear_keep_alive(const wire::LeaseKeepAliveResponse& said) {
    std::deque<kept_alive> answered;
    {
        const std::scoped_lock guard(stream_mutex_);
        const auto found = awaiting_.find(said.id());
        if (found == awaiting_.end()) return;
        answered.push_back(std::move(found->second.front()));
        found->second.pop_front();
        if (found->second.empty()) awaiting_.erase(found);
    }
    called<std::int64_t> out;
    out.value = said.ttl();
    answered.front().answer.complete(std::move(out));
}

// A silent stream says nothing to the others either.
void etcd_client::keep_alive_timed_out(std::int64_t lease) {
    std::shared_ptr<keep_alive_stream> silent;
    {
        const std::scoped_lock guard(stream_mutex_);
        if (!awaiting_.contains(lease)) return;
        silent = keep_alives_;
    }
    if (!silent) return;
    silent->cancel();
    leave_server(current_);
}

void etcd_client::keep_alive_stream_ended(const keep_alive_stream* which) {
    std::unordered_map<std::int64_t, std::deque<kept_alive>> unanswered;
    {
        const std::scoped_lock guard(stream_mutex_);
        if (keep_alives_.get() != which) return;
        keep_alives_.reset();
        unanswered.swap(awaiting_);
    }
    for (auto& [lease, all] : unanswered) {
        for (kept_alive& one : all) {
            called<std::int64_t> out;
            out.value = fail(errc::unavailable, "etcd: the connection that renews leases was lost");
            out.doubt = true;
            one.answer.complete(std::move(out));
        }
    }
}

std::int64_t etcd_client::watch(watch_plan plan, watch_handler handler) {
    wire::WatchRequest request;
    auto& wanted = *request.mutable_create_request();
    wanted.set_key(std::move(plan.key));
    wanted.set_range_end(std::move(plan.range_end));
    wanted.set_start_revision(plan.from);
    if (!plan.puts) wanted.add_filters(wire::WatchCreateRequest::NOPUT);
    std::shared_ptr<watch_stream> stream;
    bool fresh = false;
    std::int64_t id = 0;
    {
        const std::scoped_lock guard(stream_mutex_);
        id = next_watch_++;
        if (closed_) return id;
        watches_.emplace(id, watched{std::move(handler)});
        if (!watching_) {
            watching_ = std::make_shared<watch_stream>(channels_[current_]);
            fresh = true;
        }
        stream = watching_;
    }
    wanted.set_watch_id(id);
    if (fresh) {
        const auto* const which = stream.get();
        prepare(stream->context());
        stream->start("/etcdserverpb.Watch/Watch", {[weak = weak_from_this()](const auto& said) {
                                                        if (const auto self = weak.lock())
                                                            self->hear_watch(said);
                                                    },
                                                    [weak = weak_from_this(), which] {
                                                        if (const auto self = weak.lock()) {
                                                            self->watch_stream_ended(which);
                                                        }
                                                    }});
    }
    stream->send(std::move(request));
    return id;
}

void etcd_client::unwatch(std::int64_t id) {
    std::shared_ptr<watch_stream> stream;
    {
        const std::scoped_lock guard(stream_mutex_);
        if (watches_.erase(id) == 0) return;
        stream = watching_;
    }
    if (!stream) return;
    wire::WatchRequest request;
    request.mutable_cancel_request()->set_watch_id(id);
    stream->send(std::move(request));
}

void etcd_client::hear_watch(const wire::WatchResponse& said) {
    watch_handler handler;
    {
        const std::scoped_lock guard(stream_mutex_);
        const auto found = watches_.find(said.watch_id());
        if (found == watches_.end()) return;
        handler = found->second.handler;
        if (said.canceled()) watches_.erase(found);
    }
    for (const wire::Event& event : said.events()) {
        const bool gone = event.type() == wire::Event::DELETE;
        handler({gone ? watch_event::kind::deleted : watch_event::kind::put, event.kv().key(),
                 event.kv().value()});
    }
    if (said.canceled()) handler({});
}

void etcd_client::watch_stream_ended(const watch_stream* which) {
    std::unordered_map<std::int64_t, watched> all;
    {
        const std::scoped_lock guard(stream_mutex_);
        if (watching_.get() != which) return;
        watching_.reset();
        all.swap(watches_);
    }
    for (auto& [id, one] : all) one.handler({});
}

void etcd_client::end_streams() {
    std::shared_ptr<keep_alive_stream> keep_alives;
    std::shared_ptr<watch_stream> watching;
    {
        const std::scoped_lock guard(stream_mutex_);
        keep_alives = keep_alives_;
        watching = watching_;
    }
    if (keep_alives) keep_alives->cancel();
    if (watching) watching->cancel();
}

}  // namespace holdfast::etcd
