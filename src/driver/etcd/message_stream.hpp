// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

/// Messages in both directions over one call, for as long as it lasts.
///
/// gRPC writes one message at a time; the others wait here, in order. It owns itself from start()
/// until the call has ended, which is told once, with `on_end`.
namespace holdfast::etcd {

template <class Request, class Response>
class message_stream final
    : public grpc::ClientBidiReactor<Request, Response>,
      public std::enable_shared_from_this<message_stream<Request, Response>> {
public:
    struct handlers {
        std::function<void(const Response&)> on_message;
        std::function<void()> on_end;
    };

    explicit message_stream(std::shared_ptr<grpc::Channel> channel) : stub_(std::move(channel)) {}

    /// Before start(): what goes with the call.
    grpc::ClientContext& context() noexcept { return context_; }

    void start(const char* method, handlers calls) {
        calls_ = std::move(calls);
        self_ = this->shared_from_this();
        stub_.PrepareBidiStreamingCall(&context_, method, {}, this);
        this->AddHold();  // writes come from outside of reactions
        this->StartRead(&incoming_);
        this->StartCall();
        const std::scoped_lock guard(mutex_);
        started_ = true;
        if (!outgoing_.empty() && !ending_) this->StartWrite(&outgoing_.front());
    }

    /// Does nothing once the call is ending. Before start() it waits for that.
    void send(Request message) {
        const std::scoped_lock guard(mutex_);
        if (ending_) return;
        outgoing_.push_back(std::move(message));
        if (started_ && outgoing_.size() == 1) this->StartWrite(&outgoing_.front());
    }

    void cancel() { context_.TryCancel(); }

private:
    void OnWriteDone(bool ok) override {
        const std::scoped_lock guard(mutex_);
        if (!outgoing_.empty()) outgoing_.pop_front();
        if (!ok || ending_) {
            outgoing_.clear();
            return;
        }
        if (!outgoing_.empty()) this->StartWrite(&outgoing_.front());
    }
    void OnReadDone(bool ok) override {
        if (!ok) {
            {
                const std::scoped_lock guard(mutex_);
                ending_ = true;
            }
            this->RemoveHold();
            return;
        }
        calls_.on_message(incoming_);
        incoming_.Clear();
        this->StartRead(&incoming_);
    }
    void OnDone(const grpc::Status& /*status*/) override {
        const auto last = std::move(self_);
        calls_.on_end();
    }

    grpc::TemplatedGenericStub<Request, Response> stub_;
    handlers calls_;
    grpc::ClientContext context_;
    std::shared_ptr<message_stream> self_;
    Response incoming_;
    std::mutex mutex_;
    std::deque<Request> outgoing_;
    bool started_ = false;
    bool ending_ = false;
};

}  // namespace holdfast::etcd
