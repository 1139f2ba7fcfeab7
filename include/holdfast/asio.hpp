// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/command_engine.hpp>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <utility>

/// Commands as asynchronous operations of Boost.Asio.
///
///     reply r = (co_await holdfast::async_execute(engine, words("GET", key), give_up,
///                                                 boost::asio::use_awaitable)).value();
///
/// Any completion token works; the signature is void(result<reply>). This is the only header of
/// Holdfast that includes Boost. The handler runs on its own executor, never on an engine's thread.
namespace holdfast {

/// As command_engine::execute(), without blocking: the command is copied before this returns.
/// Errors: as the seam, and the server's error replies by their code.
/// Requires: `engine` outlives the operation.
template <class Token>
auto async_execute(command_engine& engine, const command& c, time_point give_up, Token&& token) {
    namespace asio = boost::asio;
    return asio::async_initiate<Token, void(result<reply>)>(
        [&engine, give_up](auto handler, command copied) {
            // The guard keeps the handler's executor running while only we hold the handler.
            auto guard = asio::make_work_guard(asio::get_associated_executor(handler));
            engine.submit(copied, give_up,
                          [h = std::move(handler), g = std::move(guard)](result<reply> r) mutable {
                              if (r && r->is_error()) r = std::unexpected(to_error(*r));
                              const auto executor = g.get_executor();
                              asio::post(executor,
                                         [handler = std::move(h), answer = std::move(r)]() mutable {
                                             std::move(handler)(std::move(answer));
                                         });
                              g.reset();
                          });
        },
        token, c);
}

}  // namespace holdfast
