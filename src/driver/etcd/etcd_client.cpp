// SPDX-License-Identifier: Apache-2.0
#include "driver/etcd/etcd_client.hpp"

#include <fmt/format.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;

// A range of a thousand waiters has some hundred kilobytes; this is far above, and a bound.
constexpr int largest_message = 64 * 1024 * 1024;

// etcd closes connections that ask more often than every five seconds.
constexpr int ping_every_ms = 10'000;
constexpr int ping_timeout_ms = 5'000;

constexpr duration shortest_attempt = 50ms;

result<std::string> read_pem(const std::string& path) {
    if (path.empty()) return std::string();
    std::ifstream file(path);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file || text.empty()) {
        return fail(errc::invalid_argument,
                    fmt::format("etcd: cannot read the certificate or key in {}", path));
    }
    return text;
}

result<std::shared_ptr<grpc::ChannelCredentials>> credentials_for(const etcd_options& options) {
    if (!options.tls) return grpc::InsecureChannelCredentials();
    grpc::SslCredentialsOptions pem;
    for (const auto& [path, into] : {std::pair{&options.ca_file, &pem.pem_root_certs},
                                     std::pair{&options.certificate_file, &pem.pem_cert_chain},
                                     std::pair{&options.key_file, &pem.pem_private_key}}) {
        auto text = read_pem(*path);
        if (!text) return std::unexpected(std::move(text.error()));
        *into = std::move(*text);
    }
    return grpc::SslCredentials(pem);
}

std::string address_of(const etcd_endpoint& server) {
    const bool is_ipv6 = server.host.find(':') != std::string::npos;
    return is_ipv6 ? fmt::format("[{}]:{}", server.host, server.port)
                   : fmt::format("{}:{}", server.host, server.port);
}

grpc::ChannelArguments channel_arguments(const etcd_options& options) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(largest_message);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, ping_every_ms);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ping_timeout_ms);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                     static_cast<int>(options.connect_timeout / 1ms));
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    // Each client has a connection of its own: what one does to it, another does not feel.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return arguments;
}

// gRPC's threads end with the last channel that used them, and are joined by whoever destroys it:
// which may be one of them, as a call ends that had kept its channel alive. So one channel, to
// nowhere, is never destroyed.
void keep_threads_of_grpc() {
    struct flight {
        std::shared_ptr<grpc::Channel> nowhere = grpc::CreateChannel("nowhere", nullptr);
        grpc::TemplatedGenericStub<wire::StatusRequest, wire::StatusResponse> stub{nowhere};
        grpc::ClientContext context;
        wire::StatusRequest request;
        wire::StatusResponse response;
    };
    static flight* const first = [] {
        auto* const made = new flight;
        made->stub.UnaryCall(&made->context, "/nowhere/Nothing", {}, &made->request,
                             &made->response, [](const grpc::Status&) {});
        return made;
    }();
    static_cast<void>(first);
}

}  // namespace

result<std::shared_ptr<etcd_client>> etcd_client::make(etcd_options options, clock& time) {
    auto credentials = credentials_for(options);
    if (!credentials) return std::unexpected(std::move(credentials.error()));
    keep_threads_of_grpc();
    const std::shared_ptr<etcd_client> made(new etcd_client(std::move(options), time));
    const grpc::ChannelArguments arguments = channel_arguments(made->options_);
    for (const etcd_endpoint& server : made->options_.servers) {
        made->labels_.push_back(address_of(server));
        made->channels_.push_back(
            grpc::CreateCustomChannel(made->labels_.back(), *credentials, arguments));
    }
    return made;
}

etcd_client::etcd_client(etcd_options options, clock& time)
    : options_(std::move(options)), clock_(time) {}

void etcd_client::prepare(grpc::ClientContext& context) {
    // A server without a leader says so at once instead of keeping the request.
    context.AddMetadata("hasleader", "true");
    const std::scoped_lock guard(token_mutex_);
    if (!token_.empty()) context.AddMetadata("token", token_);
}

bool etcd_client::needs_token() {
    if (options_.user.empty()) return false;
    const std::scoped_lock guard(token_mutex_);
    return token_.empty();
}

template <class Response, class Request>
pending<etcd_client::attempted<Response>> etcd_client::attempt(std::size_t server,
                                                               const char* method,
                                                               const Request& request,
                                                               time_point deadline) {
    struct flight {
        explicit flight(std::shared_ptr<grpc::Channel> channel) : stub(std::move(channel)) {}
        grpc::TemplatedGenericStub<Request, Response> stub;
        grpc::ClientContext context;
        Request request;
        Response response;
    };
    auto of = std::make_shared<flight>(channels_[server]);
    of->request = request;
    prepare(of->context);
    // style: allow clock, because gRPC counts by this one
    of->context.set_deadline(std::chrono::system_clock::now() + (deadline - clock_.now()));
    pending<attempted<Response>> done;
    of->stub.UnaryCall(&of->context, method, {}, &of->request, &of->response,
                       [of, done](grpc::Status status) {
                           done.complete({std::move(status), std::move(of->response)});
                       });
    return done;
}

// A server that keeps silent gets its share of the time, so that there is some left for the others.
template <class Response, class Request>
pending<called<Response>> etcd_client::call(std::shared_ptr<etcd_client> self, const char* method,
                                            Request request, time_point give_up, if_unknown then) {
    called<Response> out;
    std::size_t left = self->channels_.size() + 1;
    int logins = 0;
    while (left > 0 && !self->closed_) {
        if (self->needs_token() && logins == 0) {
            ++logins;
            co_await log_in(self, give_up);
        }
        const time_point now = self->clock_.now();
        const duration share =
            std::max<duration>((give_up - now) / static_cast<int>(left), shortest_attempt);
        const std::size_t server = self->current_;
        --left;
        pending<attempted<Response>> flight = self->attempt<Response>(
            server, method, request, std::min(now + share, std::max(give_up, now)));
        attempted<Response> seen = co_await flight;
        if (seen.status.ok()) {
            out.value = std::move(seen.answer);
            co_return out;
        }
        const verdict means = judge(seen.status);
        out.value = std::unexpected(to_error(seen.status, self->labels_[server]));
        out.no_lease = means == verdict::no_lease;
        if (means == verdict::unknown) out.doubt = true;
        if (means == verdict::log_in && !self->options_.user.empty() && logins < 2) {
            ++logins;
            ++left;
            co_await log_in(self, give_up);
            continue;
        }
        if (means == verdict::try_next || means == verdict::unknown) {
            self->leave_server(server);
            if (means == verdict::unknown && then == if_unknown::stop) break;
            if (self->clock_.now() < give_up) continue;
        }
        break;
    }
    if (out.doubt && !out.value) out.value.error().code = errc::outcome_unknown;
    co_return out;
}

// The token is a secret that the servers forget: after five minutes without use, and when the
// permissions change.
pending<bool> etcd_client::log_in(std::shared_ptr<etcd_client> self, time_point give_up) {
    wire::AuthenticateRequest who;
    who.set_name(self->options_.user);
    who.set_password(self->options_.password);
    {
        const std::scoped_lock guard(self->token_mutex_);
        self->token_.clear();
    }
    for (std::size_t left = self->channels_.size(); left > 0; --left) {
        const std::size_t server = self->current_;
        const time_point now = self->clock_.now();
        const duration share =
            std::max<duration>((give_up - now) / static_cast<int>(left), shortest_attempt);
        pending<attempted<wire::AuthenticateResponse>> flight =
            self->attempt<wire::AuthenticateResponse>(server, "/etcdserverpb.Auth/Authenticate",
                                                      who, now + share);
        attempted<wire::AuthenticateResponse> seen = co_await flight;
        if (seen.status.ok()) {
            {
                const std::scoped_lock guard(self->token_mutex_);
                self->token_ = seen.answer.token();
            }
            self->end_streams();  // they have the old one
            co_return true;
        }
        const verdict means = judge(seen.status);
        if (means != verdict::try_next && means != verdict::unknown) break;
        self->leave_server(server);
    }
    co_return false;
}

void etcd_client::leave_server(std::size_t failed) {
    std::size_t expected = failed;
    if (channels_.size() > 1 &&
        current_.compare_exchange_strong(expected, (failed + 1) % channels_.size())) {
        end_streams();
    }
}

pending<called<wire::TxnResponse>> etcd_client::txn(wire::TxnRequest request, time_point give_up,
                                                    if_unknown then) {
    return call<wire::TxnResponse>(shared_from_this(), "/etcdserverpb.KV/Txn", std::move(request),
                                   give_up, then);
}

pending<called<wire::RangeResponse>> etcd_client::range(wire::RangeRequest request,
                                                        time_point give_up) {
    return call<wire::RangeResponse>(shared_from_this(), "/etcdserverpb.KV/Range",
                                     std::move(request), give_up, if_unknown::repeat);
}

pending<called<wire::LeaseGrantResponse>> etcd_client::grant(std::int64_t ttl_s,
                                                             time_point give_up) {
    wire::LeaseGrantRequest request;
    request.set_ttl(ttl_s);
    return call<wire::LeaseGrantResponse>(shared_from_this(), "/etcdserverpb.Lease/LeaseGrant",
                                          std::move(request), give_up, if_unknown::repeat);
}

pending<called<wire::LeaseRevokeResponse>> etcd_client::revoke(std::int64_t lease,
                                                               time_point give_up) {
    wire::LeaseRevokeRequest request;
    request.set_id(lease);
    return call<wire::LeaseRevokeResponse>(shared_from_this(), "/etcdserverpb.Lease/LeaseRevoke",
                                           std::move(request), give_up, if_unknown::repeat);
}

pending<called<wire::LeaseTimeToLiveResponse>> etcd_client::time_to_live(std::int64_t lease,
                                                                         time_point give_up) {
    wire::LeaseTimeToLiveRequest request;
    request.set_id(lease);
    return call<wire::LeaseTimeToLiveResponse>(shared_from_this(),
                                               "/etcdserverpb.Lease/LeaseTimeToLive",
                                               std::move(request), give_up, if_unknown::repeat);
}

pending<called<wire::MemberListResponse>> etcd_client::members(time_point give_up) {
    return call<wire::MemberListResponse>(shared_from_this(), "/etcdserverpb.Cluster/MemberList",
                                          wire::MemberListRequest(), give_up, if_unknown::repeat);
}

pending<called<wire::StatusResponse>> etcd_client::status(std::size_t server, time_point give_up) {
    auto self = shared_from_this();
    const auto ask = [](std::shared_ptr<etcd_client> of, std::size_t at,
                        time_point until) -> pending<called<wire::StatusResponse>> {
        if (of->needs_token()) co_await log_in(of, until);
        pending<attempted<wire::StatusResponse>> flight = of->attempt<wire::StatusResponse>(
            at, "/etcdserverpb.Maintenance/Status", wire::StatusRequest(), until);
        attempted<wire::StatusResponse> seen = co_await flight;
        called<wire::StatusResponse> out;
        if (seen.status.ok()) {
            out.value = std::move(seen.answer);
        } else {
            out.value = std::unexpected(to_error(seen.status, of->labels_[at]));
        }
        co_return out;
    };
    return ask(std::move(self), server, give_up);
}

void etcd_client::close() {
    closed_ = true;
    end_streams();
}

}  // namespace holdfast::etcd
