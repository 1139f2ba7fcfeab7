// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/video/transcode.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <string>

/// Asks ffprobe about a file, outside of any task: before a video is submitted.
namespace holdfast::app {

/// Blocks: until ffprobe ends, at most that long; then it is killed. May be called with other
/// threads about.
/// Errors: invalid_argument: this is no video, and why; unsupported: ffprobe is not here;
/// unavailable: it did not end well.
[[nodiscard]] result<video_facts> probe_file(const std::string& file,
                                             duration at_most = std::chrono::seconds(20));

}  // namespace holdfast::app
