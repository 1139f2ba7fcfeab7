// SPDX-License-Identifier: Apache-2.0
#include "driver/sqlite/file_listener.hpp"

#include "lease/tables/wake_hub.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace holdfast::sqlite {

void touch_file(const std::string& path) noexcept {
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

file_listener::file_listener(std::string path) : path_(std::move(path)) {}

file_listener::~file_listener() {
    close();
}

void file_listener::close() noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

// Adding a watch that is there changes nothing. Of a file that took the place of another it makes a
// new one.
bool file_listener::watch() noexcept {
    return ::inotify_add_watch(fd_, path_.c_str(), IN_ATTRIB) >= 0;
}

result<void> file_listener::connect(const sql::listener_id& /*whose*/) {
    fd_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd_ >= 0 && watch()) return {};
    return fail(errc::unavailable,
                fmt::format("{} cannot be watched: {}", path_,
                            std::error_code(errno, std::generic_category()).message()));
}

void file_listener::attend(const sql::listener_id& whose, int closing) {
    alignas(inotify_event) std::array<char, 4096> events{};
    while (true) {
        const bool readable = sql::wait_to_read(fd_, closing, std::chrono::seconds(1));
        if (sql::wait_to_read(closing, -1, duration::zero())) return;
        if (!readable) {
            if (!watch()) return;
            continue;
        }
        while (::read(fd_, events.data(), events.size()) > 0) {
        }
        sql::tell_to_poll_again(whose);
    }
}

}  // namespace holdfast::sqlite
