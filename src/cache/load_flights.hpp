// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

/// Loads that run in this process, for callers that want the same key meanwhile.
///
/// A caller joins a load only if the engine has just shown it that load's token: then nothing has
/// voided it before the caller came. While the engine is away there is no token to compare, and a
/// caller joins whatever runs (an empty token).
///
/// Thread safety: all members may be called from any thread.
namespace holdfast::detail {

using load_result = result<std::optional<std::string>>;

class load_flight {
public:
    explicit load_flight(std::string token) : token_(std::move(token)) {}

    [[nodiscard]] const std::string& token() const noexcept { return token_; }
    /// Nothing, if `until` came first.
    [[nodiscard]] std::optional<load_result> wait(clock& time, time_point until);
    void land(const load_result& outcome);

private:
    const std::string token_;
    std::mutex mutex_;
    std::condition_variable landed_;
    std::optional<load_result> outcome_;
};

class load_flights {
public:
    /// Begins one in the place of what there is.
    [[nodiscard]] std::shared_ptr<load_flight> begin(std::string_view key, std::string_view token);
    /// The one that runs under this token; null if there is none.
    [[nodiscard]] std::shared_ptr<load_flight> find(std::string_view key, std::string_view token);
    /// Joins the one that runs without a token, or begins it; `first` says which.
    [[nodiscard]] std::shared_ptr<load_flight> join(std::string_view key, bool& first);
    void end(std::string_view key, const std::shared_ptr<load_flight>& which,
             const load_result& outcome);

private:
    std::mutex mutex_;
    std::unordered_map<std::string, std::shared_ptr<load_flight>> running_;
    std::unordered_map<std::string, std::shared_ptr<load_flight>> away_;
};

}  // namespace holdfast::detail
