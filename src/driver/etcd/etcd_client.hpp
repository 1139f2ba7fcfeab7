// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/etcd/etcd_errors.hpp"
#include "driver/etcd/etcd_options.hpp"
#include "driver/etcd/message_stream.hpp"
#include "driver/etcd/pending.hpp"
#include "etcd.pb.h"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <grpcpp/alarm.h>
#include <grpcpp/channel.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

/// Calls to an etcd cluster: over one connection, to one server, until that one fails.
///
/// A call that failed on one server is made on the next, in the time that it was given. All calls
/// may be repeated: what they change, they change only if it is as it was seen. Whether an earlier
/// attempt may have been carried out is told with the answer (`doubt`).
///
/// One stream keeps all leases of a client alive. The server renews them one after the other, which
/// takes it some microseconds each: the leader does not write a renewal down. A lease of which our
/// clock says that it may be over is not sent over it, because the server holds back the answer,
/// and all answers behind it, until such a lease is revoked. Another stream carries all watches.
///
/// Thread safety: all members may be called from any thread.
namespace holdfast::etcd {

template <class T>
struct called {
    result<T> value = fail(errc::unavailable, "etcd: the client is closed");
    bool doubt = false;     ///< An attempt whose outcome is not known may have been carried out.
    bool no_lease = false;  ///< It failed because its lease is gone.
};

/// What happened to a watched key.
struct watch_event {
    enum class kind : std::uint8_t {
        put,
        deleted,
        over,  ///< The watch has ended: the connection, or what it asked for was compacted.
    };
    kind what = kind::over;
    std::string key;
    std::string value;
};

struct watch_plan {
    std::string key;
    std::string range_end;  ///< Empty: that key alone.
    std::int64_t from = 0;  ///< The first revision that it has not seen.
    bool puts = false;      ///< Not only deletions.
};

/// Whether a request may be made again when its outcome is not known.
enum class if_unknown : std::uint8_t { repeat, stop };

class etcd_client : public std::enable_shared_from_this<etcd_client> {
public:
    using watch_handler = std::function<void(const watch_event&)>;

    /// Reads the certificates; connects to nothing yet.
    /// Errors: invalid_argument (a file that cannot be read).
    [[nodiscard]] static result<std::shared_ptr<etcd_client>> make(etcd_options options,
                                                                   clock& time);

    pending<called<wire::TxnResponse>> txn(wire::TxnRequest request, time_point give_up,
                                           if_unknown then = if_unknown::repeat);
    pending<called<wire::RangeResponse>> range(wire::RangeRequest request, time_point give_up);
    pending<called<wire::LeaseGrantResponse>> grant(std::int64_t ttl_s, time_point give_up);
    pending<called<wire::LeaseRevokeResponse>> revoke(std::int64_t lease, time_point give_up);
    pending<called<wire::LeaseTimeToLiveResponse>> time_to_live(std::int64_t lease,
                                                                time_point give_up);
    /// The lease's ttl in seconds; 0 if it is gone.
    pending<called<std::int64_t>> keep_alive(std::int64_t lease, time_point give_up);

    /// Calls `handler` for what happens to the key, on a thread of gRPC, until unwatch() or `over`.
    [[nodiscard]] std::int64_t watch(watch_plan plan, watch_handler handler);
    void unwatch(std::int64_t id);

    /// Of one server, whatever the others do: for a doctor.
    pending<called<wire::StatusResponse>> status(std::size_t server, time_point give_up);
    pending<called<wire::MemberListResponse>> members(time_point give_up);
    [[nodiscard]] std::size_t servers() const noexcept { return channels_.size(); }
    [[nodiscard]] const std::string& label(std::size_t server) const { return labels_[server]; }

    /// Ends the streams. Calls that are in flight go on.
    void close();

    [[nodiscard]] const etcd_options& options() const noexcept { return options_; }
    [[nodiscard]] clock& time() const noexcept { return clock_; }

private:
    using keep_alive_stream =
        message_stream<wire::LeaseKeepAliveRequest, wire::LeaseKeepAliveResponse>;
    using watch_stream = message_stream<wire::WatchRequest, wire::WatchResponse>;

    template <class T>
    struct attempted {
        grpc::Status status;
        T answer;
    };
    struct kept_alive {
        pending<called<std::int64_t>> answer;
        std::shared_ptr<grpc::Alarm> timeout;
    };
    struct watched {
        watch_handler handler;
    };

    etcd_client(etcd_options options, clock& time);

    template <class Response, class Request>
    static pending<called<Response>> call(std::shared_ptr<etcd_client> self, const char* method,
                                          Request request, time_point give_up, if_unknown then);
    template <class Response, class Request>
    pending<attempted<Response>> attempt(std::size_t server, const char* method,
                                         const Request& request, time_point deadline);
    static pending<bool> log_in(std::shared_ptr<etcd_client> self, time_point give_up);
    [[nodiscard]] bool needs_token();
    void prepare(grpc::ClientContext& context);
    /// Leaves a server that failed, and its streams with it, unless somebody else has already.
    void leave_server(std::size_t failed);
    void end_streams();

    void hear_keep_alive(const wire::LeaseKeepAliveResponse& said);
    void keep_alive_stream_ended(const keep_alive_stream* which);
    void keep_alive_timed_out(std::int64_t lease);
    void hear_watch(const wire::WatchResponse& said);
    void watch_stream_ended(const watch_stream* which);

    const etcd_options options_;
    clock& clock_;
    std::vector<std::shared_ptr<grpc::Channel>> channels_;
    std::vector<std::string> labels_;
    std::atomic<std::size_t> current_ = 0;
    std::atomic<bool> closed_ = false;

    std::mutex token_mutex_;
    std::string token_;

    std::mutex stream_mutex_;
    std::shared_ptr<keep_alive_stream> keep_alives_;
    std::unordered_map<std::int64_t, std::deque<kept_alive>> awaiting_;
    std::shared_ptr<watch_stream> watching_;
    std::unordered_map<std::int64_t, watched> watches_;
    std::int64_t next_watch_ = 1;
};

}  // namespace holdfast::etcd
