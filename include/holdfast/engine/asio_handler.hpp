// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/delivery_round.hpp>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <typeinfo>
#include <utility>
#include <vector>

/// How an outcome comes to its handler's executor. A part of asio.hpp.
namespace holdfast::detail {

/// A handler on its way through threads that are not its own.
class posted_handler {
public:
    virtual ~posted_handler() = default;
    virtual void run(std::unique_ptr<posted_handler> self) = 0;
};

/// Handlers for one executor, sent as one. Each of its threads that has nothing else to do takes
/// part: whoever begins asks for another one first.
template <class Executor>
class handler_parcel final : public delivery_round::parcel {
public:
    explicit handler_parcel(boost::asio::executor_work_guard<Executor> keeps_it_running)
        : guard_(std::move(keeps_it_running)), load_(std::make_shared<load>()) {}

    /// Into the parcel that is open here and goes to the same executor, or into a new one.
    static void add(boost::asio::executor_work_guard<Executor>& guard,
                    std::unique_ptr<posted_handler> one) {
        delivery_round* const round = delivery_round::current();
        if (round == nullptr) {
            boost::asio::post(guard.get_executor(), [one = std::move(one)]() mutable {
                posted_handler& it = *one;
                it.run(std::move(one));
            });
            return;
        }
        delivery_round::parcel* const last = round->open();
        const bool alike = last != nullptr && typeid(*last) == typeid(handler_parcel);
        auto* to = alike ? static_cast<handler_parcel*>(last) : nullptr;
        if (to == nullptr || to->guard_.get_executor() != guard.get_executor()) {
            auto fresh = std::make_unique<handler_parcel>(std::move(guard));
            to = fresh.get();
            round->begin(std::move(fresh));
        }
        to->load_->handlers.push_back(std::move(one));
    }

    void send() override {
        boost::asio::post(guard_.get_executor(), helper{guard_.get_executor(), load_});
        guard_.reset();
    }

private:
    struct load {
        std::vector<std::unique_ptr<posted_handler>> handlers;
        std::atomic<std::size_t> next = 0;
    };

    struct helper {
        Executor where;
        std::shared_ptr<load> from;

        void operator()() {
            const std::size_t count = from->handlers.size();
            std::size_t mine = from->next++;
            if (mine + 1 < count) boost::asio::post(where, helper(*this));
            for (; mine < count; mine = from->next++) {
                posted_handler& it = *from->handlers[mine];
                it.run(std::move(from->handlers[mine]));
            }
        }
    };

    boost::asio::executor_work_guard<Executor> guard_;
    std::shared_ptr<load> load_;
};

/// A handler that waits for its outcome. It keeps its executor running, and is posted there.
/// `Before` runs on the handler's executor, just before the handler.
template <class Outcome, class Handler, class Before>
class awaited_outcome final : public posted_handler {
public:
    awaited_outcome(Handler handler, Before before)
        : guard_(boost::asio::make_work_guard(boost::asio::get_associated_executor(handler))),
          handler_(std::move(handler)),
          before_(std::move(before)) {}

    static void complete(std::unique_ptr<awaited_outcome> self, Outcome outcome) {
        self->outcome_.emplace(std::move(outcome));
        auto guard = std::move(self->guard_);
        handler_parcel<executor_type>::add(guard, std::move(self));
    }

    // Its memory is given back first: what the handler begins next can have it.
    void run(std::unique_ptr<posted_handler> self) override {
        Handler handler = std::move(handler_);
        Outcome outcome = std::move(*outcome_);
        Before before = std::move(before_);
        self.reset();
        before();
        std::move(handler)(std::move(outcome));
    }

private:
    using executor_type = decltype(boost::asio::make_work_guard(
        boost::asio::get_associated_executor(std::declval<const Handler&>())))::executor_type;
    boost::asio::executor_work_guard<executor_type> guard_;
    Handler handler_;
    Before before_;
    std::optional<Outcome> outcome_;
};

template <class Outcome, class Handler, class Before>
auto await_outcome(Handler handler, Before before) {
    return std::make_unique<awaited_outcome<Outcome, Handler, Before>>(std::move(handler),
                                                                       std::move(before));
}

}  // namespace holdfast::detail
