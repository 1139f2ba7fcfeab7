// SPDX-License-Identifier: Apache-2.0
//
// holdfast video add: submits a video for the workers of --video.
#include "command_line.hpp"
#include "commands/task/task.hpp"
#include "commands/video/probe_file.hpp"
#include "commands/video/transcode.hpp"
#include "error_output.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace holdfast::app {
namespace {

namespace fs = std::filesystem;

struct video_add_options : task_options {
    std::string file;
    std::string output;
};

exit_code add_one(const video_add_options& options) {
    std::error_code why;
    const fs::path file = fs::canonical(options.file, why);
    if (why || !fs::is_regular_file(file, why)) {
        return complain(
            error{errc::invalid_argument, fmt::format("there is no file {}", options.file)});
    }
    const fs::path place =
        fs::absolute(options.output.empty() ? fs::path(file).replace_extension(".hls")
                                            : fs::path(options.output),
                     why);
    if (fs::exists(place, why)) {
        return complain(error{errc::invalid_argument,
                              fmt::format("there is something at {} already: remove it, or use "
                                          "--output DIR",
                                          place.native())});
    }
    // Without ffprobe here, the worker finds out.
    if (const auto facts = probe_file(file.native());
        !facts && facts.error() == errc::invalid_argument) {
        return complain(facts.error());
    }
    auto tasks = open_task_store(options.engine);
    if (!tasks) return complain(tasks.error());
    const auto sent = tasks->submit({.arguments = video_arguments(file.native(), place.native()),
                                     .queue = video_queue,
                                     .id = options.id});
    if (!sent) return complain(sent.error());
    if (!sent->created) complain("there is such a task already: nothing new was submitted");
    if (options.format == "json") {
        fmt::print(R"({{"id":"{}","created":{}}})"
                   "\n",
                   sent->id, sent->created);
    } else {
        fmt::print("{}\n", sent->id);
    }
    return exit_code::success;
}

}  // namespace

void add_video(CLI::App& to, command_list& all) {
    CLI::App* words = to.add_subcommand("video", "Transcode videos to HLS, each once");
    words->group("");  // in the overview, task names it
    CLI::App* const add = words->add_subcommand("add", "Submit a video, and print its id");
    add->group("Subcommands");  // otherwise it would be hidden as well
    const auto options = std::make_shared<video_add_options>();
    add->add_option("FILE", options->file, "The video")->required();
    add->add_option("--output", options->output, "The directory to make")
        ->type_name("DIR")
        ->default_str("FILE.hls");
    add->add_option("--id", options->id, "Its id; one is drawn otherwise")->type_name("ID");
    add_task_options(*add, *options);
    add->footer(
        "Example:\n"
        "  holdfast video add film.mp4 --id 17 && holdfast worker --video --until-empty\n"
        "\n"
        "A worker makes master.m3u8 with several renditions, poster.jpg, storyboard.jpg and "
        "index.html. DIR appears when all of it is there.\n"
        "Exit codes: 0 submitted, or there already; 2 misuse, 5 no answer\n");
    words->footer("Example:\n  holdfast video add film.mp4\n");
    all.push_back({.words = add, .run = [options] { return add_one(*options); }});
}

}  // namespace holdfast::app
