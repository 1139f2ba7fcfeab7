// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What a load run measured, for people, for programs and as a picture.
namespace holdfast::app {

/// Delays from before a message was sent until a viewer had it.
struct delay_figures {
    double p50_ms = 0;
    double p90_ms = 0;
    double p99_ms = 0;
    double max_ms = 0;
    std::uint64_t samples = 0;
};

/// The samples are sorted by this.
[[nodiscard]] delay_figures delays_of(std::vector<double>& samples_ms);

/// The minimal broadcast loop in the same run.
struct limit_figures {
    double deliveries_per_second = 0;
    double bytes_per_second = 0;
};

struct load_figures {
    std::uint64_t viewers = 0;
    std::uint64_t rooms = 1;
    double seconds = 0;
    std::uint64_t sent = 0;
    std::uint64_t refused = 0;
    std::uint64_t frames = 0;     ///< Received, over all viewers,
    std::uint64_t delivered = 0;  ///< … and the messages in them.
    std::uint64_t lost = 0;
    std::uint64_t doubled = 0;
    std::uint64_t out_of_order = 0;
    std::uint64_t shed = 0;    ///< Left out for slow viewers, and counted in their frames.
    std::uint64_t closed = 0;  ///< Viewers whose connection ended before the run did.
    std::uint64_t bytes = 0;
    delay_figures delay = {};
    double frames_per_viewer_second = 0;
    std::optional<double> kib_per_connection = {};
    std::optional<double> send_calls_per_frame = {};
    std::optional<limit_figures> limit = {};
    std::vector<std::uint64_t> delivered_each_second = {};

    [[nodiscard]] double deliveries_per_second() const;
    /// Our deliveries over those of the minimal loop.
    [[nodiscard]] std::optional<double> ratio() const;
};

[[nodiscard]] std::string to_text(const load_figures& seen);
[[nodiscard]] std::string to_json(const load_figures& seen);
/// Errors: unavailable: the file cannot be written.
[[nodiscard]] result<void> plot(const load_figures& seen, const std::string& file);

}  // namespace holdfast::app
