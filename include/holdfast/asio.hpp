// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/asio_handler.hpp>
#include <holdfast/engine/command_engine.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

/// Commands and locks as asynchronous operations of Boost.Asio.
///
///     reply r = (co_await holdfast::async_execute(engine, words("GET", key), give_up,
///                                                 boost::asio::use_awaitable)).value();
///
///     auto held = co_await holdfast::async_acquire(hf.mutex("orders/42"), {.wait = 2s},
///                                                  boost::asio::use_awaitable);
///
/// Any completion token works. A handler runs on its own executor, never on a thread of Holdfast's;
/// its execution context must outlive the operation, so run it until it has no more work, or
/// close the client before it ends. This, with asio_handler.hpp, which is a part of it, is the only
/// header of Holdfast that includes Boost.
namespace holdfast {

namespace detail {

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
/// without blocking a thread. The signature is void(result<lease>). `from` is not used once
/// the operation has begun; it may be a temporary, `async_acquire(hf.mutex("name"),
/// …)`, which with use_awaitable must be awaited in the same expression.
/// Errors: as acquire().
/// Cancellation: by options.stop, and by the handler's cancellation slot (any type: a cancelled
/// wait leaves nothing behind). Both return `cancelled`.
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
