// SPDX-License-Identifier: Apache-2.0
#include "commands/video/transcode.hpp"

#include "commands/worker/command_handler.hpp"
#include "printable.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

namespace holdfast::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view page = R"(<!doctype html>
<meta charset="utf-8"><title>Video</title>
<style>body{background:#111;margin:2rem;text-align:center}video,img{max-width:100%}</style>
<video controls poster="poster.jpg" src="master.m3u8"></video><br>
<img src="storyboard.jpg" alt="Storyboard">
)";

std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string last_line(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return text.substr(text.rfind('\n') + 1);
}

/// One video: its task, its directory, its commands.
class transcoding {
public:
    transcoding(task_context& task, command_ground& ground, const video_settings& how)
        : task_(task), ground_(ground), how_(how) {}

    [[nodiscard]] result<std::string> run() {
        const std::string& both = task_.task().arguments;
        const std::size_t cut = both.find('\n');
        if (cut == std::string::npos) {
            return fail(errc::invalid_argument,
                        "its arguments are not a file and a place: use 'holdfast video add'");
        }
        file_ = both.substr(0, cut);
        std::error_code why;
        if (!fs::is_regular_file(file_, why)) {
            return fail(errc::invalid_argument, fmt::format("there is no file {}", file_));
        }
        auto staged = task_.output(both.substr(cut + 1));
        if (!staged) return staged;
        staged_ = *staged;
        auto facts = probe();
        if (!facts) return std::unexpected(std::move(facts.error()));
        return make_all(*facts);
    }

private:
    [[nodiscard]] fs::path log() const { return staged_ / "log"; }

    /// Runs a program with its errors in the log, and its output in `out`.
    [[nodiscard]] result<void> run_tool(std::vector<std::string> words, const fs::path& out,
                                        std::function<void(std::string_view)> on_line = {}) {
        const std::string tool = words.front();
        std::vector<std::string> all{"/bin/sh", "-c", R"(exec "$@" >"$OUT" 2>"$LOG" </dev/null)",
                                     "sh"};
        all.insert(all.end(), std::make_move_iterator(words.begin()),
                   std::make_move_iterator(words.end()));
        const auto end = ground_.run({.words = std::move(all),
                                      .variables = {{"OUT", out.native()}, {"LOG", log().native()}},
                                      .grace = how_.grace,
                                      .on_line = std::move(on_line)},
                                     task_);
        if (end.stopped) return fail(errc::cancelled, "it was stopped");
        if (end.code == 0) return {};
        const std::string said = text_of(log());
        if (end.code == 127 || end.code == 126) {
            return fail(errc::unavailable,
                        fmt::format("{} cannot be run: install the package ffmpeg", tool));
        }
        if (said.contains("No space left on device")) {
            return fail(errc::unavailable, "the disk is full: make room, and it is tried again");
        }
        return fail(errc::unavailable, fmt::format("{}: {}{}", tool, show_ending_of(end),
                                                   said.empty() ? "" : ": " + last_line(said)));
    }

    [[nodiscard]] std::string input() const { return "file:" + file_; }

    [[nodiscard]] result<video_facts> probe() {
        task_.progress(0, "probing");
        const fs::path out = staged_ / "probe";
        const auto ran = run_tool(probe_command(file_), out);
        if (!ran) {
            // A tool that ran and did not like the file says so by 1.
            const bool not_liked = ran.error().detail.starts_with("ffprobe: it ended with 1");
            if (!not_liked) return std::unexpected(ran.error());
            return fail(errc::invalid_argument,
                        fmt::format("this is no video: {}", last_line(text_of(log()))));
        }
        auto facts = read_probe(text_of(out));
        fs::remove(out);
        return facts;
    }

    [[nodiscard]] std::vector<std::string> ffmpeg() const {
        return {"ffmpeg",    "-v",        "error",
                "-nostdin",  "-y",        "-protocol_whitelist",
                "file,pipe", "-progress", "pipe:{progress_fd}"};
    }

    [[nodiscard]] result<void> make_rendition(const video_facts& facts, int height, double from,
                                              double to) {
        const fs::path folder = staged_ / fmt::format("{}p", height);
        std::error_code why;
        fs::create_directory(folder, why);
        if (why)
            return fail(errc::unavailable,
                        fmt::format("cannot make {}: {}", folder.native(), why.message()));
        auto words = ffmpeg();
        for (const std::string& one :
             std::initializer_list<std::string>{"-i",
                                                input(),
                                                "-map",
                                                "0:v:0",
                                                "-map",
                                                "0:a:0?",
                                                "-vf",
                                                fmt::format("scale=-2:{}", height),
                                                "-c:v",
                                                "libx264",
                                                "-preset",
                                                "veryfast",
                                                "-crf",
                                                "23",
                                                "-pix_fmt",
                                                "yuv420p",
                                                "-force_key_frames",
                                                "expr:gte(t,n_forced*2)",
                                                "-c:a",
                                                "aac",
                                                "-b:a",
                                                "128k",
                                                "-ac",
                                                "2",
                                                "-hls_time",
                                                "4",
                                                "-hls_playlist_type",
                                                "vod",
                                                "-hls_segment_filename",
                                                (folder / "part%05d.ts").native(),
                                                "-f",
                                                "hls",
                                                (folder / "index.m3u8").native()}) {
            words.push_back(one);
        }
        const std::string note = fmt::format("{}p", height);
        return run_tool(std::move(words), "/dev/null", [&](std::string_view line) {
            constexpr std::string_view key = "out_time_us=";
            if (!line.starts_with(key)) return;
            line.remove_prefix(key.size());
            double us = 0;
            std::from_chars(line.data(), line.data() + line.size(), us);
            const double part = std::clamp(us / 1e6 / facts.seconds, 0.0, 1.0);
            task_.progress(from + (to - from) * part, note);
        });
    }

    [[nodiscard]] result<void> make_pictures(const video_facts& facts) {
        task_.progress(0.9, "poster");
        auto words = ffmpeg();
        const auto poster = {std::string("-ss"),
                             fmt::format("{:.3f}", facts.seconds / 10),
                             std::string("-i"),
                             input(),
                             std::string("-frames:v"),
                             std::string("1"),
                             (staged_ / "poster.jpg").native()};
        words.insert(words.end(), poster.begin(), poster.end());
        if (auto made = run_tool(std::move(words), "/dev/null"); !made) return made;
        task_.progress(0.95, "storyboard");
        words = ffmpeg();
        const auto board = {
            std::string("-i"),
            input(),
            std::string("-vf"),
            fmt::format("fps=25/{:.3f},scale=160:-2,tile=5x5", std::max(1.0, facts.seconds)),
            std::string("-frames:v"),
            std::string("1"),
            (staged_ / "storyboard.jpg").native()};
        words.insert(words.end(), board.begin(), board.end());
        return run_tool(std::move(words), "/dev/null");
    }

    [[nodiscard]] result<std::string> make_all(const video_facts& facts) {
        const auto heights = renditions_of(facts.height);
        for (std::size_t i = 0; i < heights.size(); ++i) {
            const double step = 0.9 / static_cast<double>(heights.size());
            const double from = step * static_cast<double>(i);
            if (auto made = make_rendition(facts, heights[i], from, from + step); !made) {
                return std::unexpected(std::move(made.error()));
            }
        }
        if (auto made = make_pictures(facts); !made) return std::unexpected(made.error());
        std::ofstream(staged_ / "master.m3u8") << master_playlist(facts, heights);
        std::ofstream last(staged_ / "index.html");
        last << page << std::flush;
        if (!last)
            return fail(errc::unavailable, "the disk is full: make room, and it is tried again");
        fs::remove(log());
        return fmt::format("{}x{}, {:.1f} s, {} renditions", facts.width, facts.height,
                           facts.seconds, heights.size());
    }

    task_context& task_;
    command_ground& ground_;
    const video_settings& how_;
    std::string file_;
    fs::path staged_;
};

}  // namespace

task_handler make_video_handler(video_settings settings, command_ground& ground) {
    return [settings, &ground](task_context& task) {
        return transcoding(task, ground, settings).run();
    };
}

}  // namespace holdfast::app
