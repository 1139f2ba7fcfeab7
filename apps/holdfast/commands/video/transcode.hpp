// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/worker/task_command.hpp"

#include <holdfast/tasks/task_runner.hpp>

#include <string>
#include <string_view>
#include <vector>

/// Makes a video ready for players: HLS in several heights, a poster and a storyboard, by ffmpeg.
///
/// The task's arguments are two lines: the file, and where its output shall be. Everything is made
/// in the task's output directory and published together.
///
/// A file comes from strangers. It is read as a file and nothing else (no playlist, no URL, no list
/// of other files), so it cannot make ffmpeg read what it may not.
namespace holdfast::app {

inline constexpr const char* video_queue = "video";

struct video_settings {
    duration grace = std::chrono::seconds(10);
};

/// What ffprobe says about a file.
struct video_facts {
    int width = 0;
    int height = 0;
    double seconds = 0;
    bool sound = false;
};

/// What asks ffprobe for them. The file is a file: no URL, no playlist.
[[nodiscard]] std::vector<std::string> probe_command(std::string_view file);

/// Reads ffprobe's lines of "key=value". Pure.
/// Errors: invalid_argument: it is no video, and why.
[[nodiscard]] result<video_facts> read_probe(std::string_view lines);

/// The heights to make of a video of that height, the smallest first. Pure.
[[nodiscard]] std::vector<int> renditions_of(int height);

/// The playlist that names the renditions. Pure.
[[nodiscard]] std::string master_playlist(const video_facts& facts,
                                          const std::vector<int>& heights);

/// `ground` must outlive it.
[[nodiscard]] task_handler make_video_handler(video_settings settings, command_ground& ground);

/// The arguments of a task for a file and the place of its output.
[[nodiscard]] std::string video_arguments(std::string_view file, std::string_view place);

}  // namespace holdfast::app
