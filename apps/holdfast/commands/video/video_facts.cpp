// SPDX-License-Identifier: Apache-2.0
//
// What is decided about a video without running anything.
#include "commands/video/transcode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace holdfast::app {
namespace {

// Formats that are lists of other files or devices, or no films.
constexpr std::array<std::string_view, 10> refused_formats{
    "hls", "concat", "dash", "image2", "lavfi", "tty", "imf", "webvtt", "srt", "m3u8"};

template <class Number>
Number number_in(std::string_view text) {
    Number value{};
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::unexpected<error> no_video(std::string_view why) {
    return fail(errc::invalid_argument, fmt::format("this is no video: {}", why));
}

bool is_refused(std::string_view format) {
    const std::string_view first = format.substr(0, format.find(','));
    return first.ends_with("_pipe") ||
           std::ranges::find(refused_formats, first) != refused_formats.end();
}

/// One stream after the other; what belongs to none comes last.
struct probe_reader {
    video_facts facts;
    std::string format;
    std::string type;
    int width = 0;
    int height = 0;
    bool cover = false;

    void end_stream() {
        if (type == "audio") facts.sound = true;
        if (type == "video" && !cover && facts.height == 0) {
            facts.width = width;
            facts.height = height;
        }
        type.clear();
        width = height = 0;
        cover = false;
    }

    void read(std::string_view key, std::string_view value) {
        if (key == "codec_type") {
            end_stream();
            type = value;
        } else if (key == "width") {
            width = number_in<int>(value);
        } else if (key == "height") {
            height = number_in<int>(value);
        } else if (key == "DISPOSITION:attached_pic") {
            cover = value == "1";
        } else if (key == "format_name") {
            format = value;
        } else if (key == "duration") {
            facts.seconds = number_in<double>(value);
        }
    }
};

}  // namespace

std::vector<std::string> probe_command(std::string_view file) {
    return {"ffprobe",
            "-v",
            "error",
            "-protocol_whitelist",
            "file",
            "-show_entries",
            "stream=codec_type,width,height:stream_disposition=attached_pic:"
            "format=format_name,duration",
            "-of",
            "default=noprint_wrappers=1",
            "-i",
            fmt::format("file:{}", file)};
}

result<video_facts> read_probe(std::string_view lines) {
    probe_reader reader;
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        const std::string_view line = lines.substr(0, end);
        const std::size_t equals = line.find('=');
        if (equals != std::string_view::npos) {
            reader.read(line.substr(0, equals), line.substr(equals + 1));
        }
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    reader.end_stream();
    const video_facts& facts = reader.facts;
    if (is_refused(reader.format)) {
        return no_video(fmt::format("its format is {}", reader.format));
    }
    if (facts.height <= 0 || facts.width <= 0) return no_video("it has no pictures");
    if (facts.height > 16384 || facts.width > 16384) return no_video("its pictures are too large");
    if (!(facts.seconds > 0)) return no_video("it has no length");
    if (facts.seconds > 24 * 3600) return no_video("it is longer than a day");
    return facts;
}

std::vector<int> renditions_of(int height) {
    std::vector<int> heights;
    for (const int one : {360, 720, 1080}) {
        if (one <= height) heights.push_back(one);
    }
    if (heights.empty()) heights.push_back(std::max(2, height / 2 * 2));
    return heights;
}

std::string master_playlist(const video_facts& facts, const std::vector<int>& heights) {
    std::string out = "#EXTM3U\n#EXT-X-VERSION:3\n";
    for (const int height : heights) {
        const int width = std::max(2, facts.width * height / facts.height / 2 * 2);
        // Twice what such pictures take on average: players choose by it.
        const auto bits = static_cast<long>(width) * height * 5 + 160'000;
        out += fmt::format("#EXT-X-STREAM-INF:BANDWIDTH={},RESOLUTION={}x{}\n{}p/index.m3u8\n",
                           bits, width, height, height);
    }
    return out;
}

std::string video_arguments(std::string_view file, std::string_view place) {
    return fmt::format("{}\n{}", file, place);
}

}  // namespace holdfast::app
