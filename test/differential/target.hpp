// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "differential/operation.hpp"
#include "support/raw_connection.hpp"
#include "support/redis_server.hpp"

#include <holdfast/engine/command_engine.hpp>

#include <functional>
#include <memory>
#include <span>
#include <vector>

/// The two sides of a differential test.
namespace holdfast::test {

class target {
public:
    virtual ~target() = default;

    /// Empty, with fresh sessions and no scripts.
    virtual void start_over() = 0;

    /// Carries out commands of one session in order, as one pipeline; one reply each. An engine's
    /// own failure (no reply at all) is shown as an error reply that begins with "(no reply)".
    [[nodiscard]] virtual std::vector<reply> run(std::uint8_t session,
                                                 std::span<const operation> steps) = 0;

    /// Answers EXEC's reply.
    [[nodiscard]] virtual reply transaction(const std::vector<word_vector>& body) = 0;

    /// One command on the shared pipeline.
    [[nodiscard]] reply ask(word_vector args);
};

/// A real server. Its active expiry is switched off and a SCAN goes before each DBSIZE, because
/// when Redis notices an expired key on its own is not a matter of commands and replies.
class redis_target final : public target {
public:
    redis_target();
    void start_over() override;
    std::vector<reply> run(std::uint8_t session, std::span<const operation> steps) override;
    reply transaction(const std::vector<word_vector>& body) override;

private:
    redis_server server_;
    std::vector<raw_connection> sessions_;
};

/// Any engine behind the command seam; start_over() makes a new one.
class engine_target final : public target {
public:
    using factory = std::function<std::shared_ptr<command_engine>()>;
    explicit engine_target(factory make) : make_(std::move(make)) {}
    void start_over() override;
    std::vector<reply> run(std::uint8_t session, std::span<const operation> steps) override;
    reply transaction(const std::vector<word_vector>& body) override;

private:
    [[nodiscard]] time_point give_up() const;

    factory make_;
    std::shared_ptr<command_engine> engine_;
    std::vector<std::unique_ptr<command_session>> sessions_;
};

}  // namespace holdfast::test
