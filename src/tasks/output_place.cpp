// SPDX-License-Identifier: Apache-2.0
#include "tasks/output_place.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace holdfast::detail {
namespace {

namespace fs = std::filesystem;

std::unexpected<error> output_trouble(std::string_view doing, const fs::path& what, int why) {
    return fail(errc::unavailable, fmt::format("cannot {} {}: {}", doing, what.native(),
                                               std::generic_category().message(why)));
}

// Begins the names of all directories in which this task's output for a place is made.
std::string partial_prefix(const fs::path& place, std::string_view id) {
    return fmt::format(".{}.{}.", place.filename().native(), id);
}

int sync_path(const fs::path& what, int flags) {
    const int fd = ::open(what.c_str(), flags | O_CLOEXEC);
    if (fd < 0) return errno;
    const int why = ::fsync(fd) == 0 ? 0 : errno;
    ::close(fd);
    return why;
}

// A full disk may show itself only here.
int sync_tree(const fs::path& root) {
    std::error_code why;
    for (fs::recursive_directory_iterator at(root, why), end; !why && at != end;
         at.increment(why)) {
        if (!at->is_regular_file(why)) continue;
        if (const int failed = sync_path(at->path(), O_RDONLY); failed != 0) return failed;
    }
    return why ? why.value() : sync_path(root, O_RDONLY | O_DIRECTORY);
}

}  // namespace

result<std::string> stage_output(std::string_view place, std::string_view id, fencing_token fence) {
    std::error_code why;
    const fs::path final_place = fs::absolute(fs::path(place), why).lexically_normal();
    if (why || place.empty() || !final_place.has_filename() || place.contains('\0')) {
        return fail(errc::invalid_argument, "the place of a task's output must name a directory");
    }
    if (fs::exists(fs::symlink_status(final_place, why))) {
        return fail(errc::invalid_argument,
                    fmt::format("there is something at {} already: remove it, or name another "
                                "place",
                                final_place.native()));
    }
    const fs::path parent = final_place.parent_path();
    fs::create_directories(parent, why);
    if (why) return output_trouble("make the directory", parent, why.value());
    const std::string prefix = partial_prefix(final_place, id);
    for (fs::directory_iterator at(parent, why), end; !why && at != end; at.increment(why)) {
        const std::string name = at->path().filename();
        std::error_code ignored;
        if (name.starts_with(prefix) && name.ends_with(".partial")) {
            fs::remove_all(at->path(), ignored);
        }
    }
    const fs::path staged = parent / fmt::format("{}{}.partial", prefix, fence.value);
    fs::create_directory(staged, why);
    if (why) return output_trouble("make the directory", staged, why.value());
    return staged.native();
}

result<move_result> move_into_place(const std::string& staged, const std::string& place) {
    std::error_code ignored;
    if (fs::exists(staged, ignored)) {
        if (const int why = sync_tree(staged); why != 0 && why != ENOENT) {
            return output_trouble("write the output in", staged, why);
        }
    }
    if (::renameat2(AT_FDCWD, staged.c_str(), AT_FDCWD, place.c_str(), RENAME_NOREPLACE) == 0) {
        static_cast<void>(sync_path(fs::path(place).parent_path(), O_RDONLY | O_DIRECTORY));
        return move_result::moved;
    }
    const int why = errno;
    if (why == ENOENT) {
        return fs::exists(place, ignored) ? move_result::there : move_result::gone;
    }
    if (why == EEXIST || why == ENOTEMPTY) return move_result::taken;
    return output_trouble("publish", place, why);
}

void discard_output(const std::string& staged) noexcept {
    std::error_code ignored;
    if (!staged.empty()) fs::remove_all(staged, ignored);
}

}  // namespace holdfast::detail
