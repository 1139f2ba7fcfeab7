// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/push/log.hpp>

#include <memory>
#include <string>
#include <string_view>

/// What the service logs, on stderr: lines for people on a terminal, JSON for programs otherwise.
namespace holdfast::app {

enum class log_form : bool { text, json };

/// Thread safety: all members may be called from any thread.
class service_log {
public:
    service_log(log_form form, bool quiet);
    ~service_log();

    void write(push::log_level level, std::string_view text);

    /// Lines since the start, for /metrics.
    [[nodiscard]] std::uint64_t lines() const noexcept;

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace holdfast::app
