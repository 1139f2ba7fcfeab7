// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/command_engine.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/rounds.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

/// Commands and locks as asynchronous operations of Boost.Asio.
///
///     reply r = (co_await holdfast::async_execute(engine, words("GET", key), give_up,
///                                                 boost::asio::use_awaitable)).value();
///
///     auto held = co_await holdfast::async_acquire(hf.mutex("orders/42"), {.wait = 2s},
///                                                  boost::asio::use_awaitable);
///
/// Any completion token works. A handler runs on its own executor, never on a thread of Holdfast's;
/// its execution context must outlive the operation, so let it run until it has no more work, or
/// close the client before it ends. This is the only header of Holdfast that includes Boost.
namespace holdfast {

namespace detail {

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
            request_round together;
            for (; mine < count; mine = from->next++) {
                posted_handler& it = *from->handlers[mine];
                it.run(std::move(from->handlers[mine]));
                together.step();
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

/// Ends a wait when the user's stop token fires, or the handler's cancellation slot.
class cancel_source {
public:
    explicit cancel_source(const std::stop_token& users) {
        if (users.stop_possible()) chained_.emplace(users, chain{&source_});
    }
    [[nodiscard]] std::stop_token token() const noexcept { return source_.get_token(); }
    void cancel() { source_.request_stop(); }

private:
    struct chain {
        std::stop_source* to;
        void operator()() const { to->request_stop(); }
    };
    std::stop_source source_;
    std::optional<std::stop_callback<chain>> chained_;
};

}  // namespace detail

/// As command_engine::execute(), without blocking: the command is copied before this returns.
/// The signature is void(result<reply>).
/// Errors: as the seam, and the server's error replies by their code.
/// Requires: `engine` outlives the operation.
template <class Token>
auto async_execute(command_engine& engine, const command& c, time_point give_up, Token&& token) {
    return boost::asio::async_initiate<Token, void(result<reply>)>(
        [&engine, give_up](auto handler, command copied) {
            auto to = detail::await_outcome<result<reply>>(std::move(handler), [] {});
            engine.submit(copied, give_up, [to = std::move(to)](result<reply> r) mutable {
                if (r && r->is_error()) r = std::unexpected(to_error(*r));
                to->complete(std::move(to), std::move(r));
            });
        },
        token, c);
}

namespace detail {

/// `begin` is called once with the options and the completion, and starts the acquire.
template <class Begin, class Token>
auto async_acquire_by(Begin begin, const acquire_options& options, Token&& token) {
    return boost::asio::async_initiate<Token, void(result<lease>)>(
        [](auto handler, Begin start, acquire_options how) {
            auto slot = boost::asio::get_associated_cancellation_slot(handler);
            std::shared_ptr<cancel_source> ends;
            if (slot.is_connected()) {
                ends = std::make_shared<cancel_source>(how.stop);
                how.stop = ends->token();
                slot.assign([ends](boost::asio::cancellation_type) { ends->cancel(); });
            }
            auto to = await_outcome<result<lease>>(std::move(handler), [slot, ends]() mutable {
                if (slot.is_connected()) slot.clear();
            });
            start(how, [to = std::move(to)](result<lease> got) mutable {
                to->complete(std::move(to), std::move(got));
            });
        },
        token, std::move(begin), options);
}

}  // namespace detail

/// As acquire() of a mutex, of a shared_mutex (as its writer) or of a semaphore (one permit),
/// without blocking a thread. The signature is void(result<lease>). Nothing of `from` is used once
/// the operation has begun; it may be one made for the occasion, `async_acquire(hf.mutex("name"),
/// …)`, which with use_awaitable must be awaited in the same expression.
/// Errors: as acquire().
/// Cancellation: by options.stop, and by the handler's cancellation slot (any type: a cancelled
/// wait leaves nothing behind). Both answer `cancelled`.
template <class Lock, class Token>
auto async_acquire(Lock&& from, const acquire_options& options, Token&& token) {
    return detail::async_acquire_by(
        [which = &from](const acquire_options& how, mutex::acquire_completion done) {
            which->acquire_async(how, std::move(done));
        },
        options, std::forward<Token>(token));
}

/// The same for some permits of a semaphore at once.
template <class Semaphore, class Token>
    requires std::same_as<std::remove_cvref_t<Semaphore>, semaphore>
auto async_acquire(Semaphore&& from, std::uint32_t permits, const acquire_options& options,
                   Token&& token) {
    return detail::async_acquire_by(
        [which = &from, permits](const acquire_options& how, mutex::acquire_completion done) {
            which->acquire_async(permits, how, std::move(done));
        },
        options, std::forward<Token>(token));
}

/// The same for a reader of a shared_mutex.
template <class SharedMutex, class Token>
    requires std::same_as<std::remove_cvref_t<SharedMutex>, shared_mutex>
auto async_acquire_shared(SharedMutex&& from, const acquire_options& options, Token&& token) {
    return detail::async_acquire_by(
        [which = &from](const acquire_options& how, mutex::acquire_completion done) {
            which->acquire_shared_async(how, std::move(done));
        },
        options, std::forward<Token>(token));
}

/// As lease::release(), without blocking a thread. The signature is void(result<void>).
/// Errors: as lease::release(). It cannot be cancelled: the lease is over in any case.
template <class Token>
auto async_release(lease held, Token&& token) {
    return boost::asio::async_initiate<Token, void(result<void>)>(
        [](auto handler, lease given) {
            auto to = detail::await_outcome<result<void>>(std::move(handler), [] {});
            std::move(given).release_async([to = std::move(to)](result<void> said) mutable {
                to->complete(std::move(to), std::move(said));
            });
        },
        token, std::move(held));
}

}  // namespace holdfast
