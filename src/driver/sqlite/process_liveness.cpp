// SPDX-License-Identifier: Apache-2.0
#include "driver/sqlite/process_liveness.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace holdfast::sqlite {
namespace {

// SQLite's own locks are on other files, so closing this one drops none of them.
struct flock one_byte(short kind, std::int64_t at) {
    struct flock lock{};
    lock.l_type = kind;
    lock.l_whence = SEEK_SET;
    lock.l_start = at;
    lock.l_len = 1;
    return lock;
}

}  // namespace

// Shared locks, because each store of this process has one. They need no right to write. Whoever
// may use the database must be able to open it, whatever the umask of the process that made it.
int process_liveness::open(const std::string& database) {
    close();
    struct stat about{};
    const mode_t mode = ::stat(database.c_str(), &about) == 0 ? about.st_mode & 0666U : 0600U;
    const std::string beside = database + "-alive";
    constexpr int how = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
    file_ = ::open(beside.c_str(), how | O_CREAT | O_EXCL, mode);
    if (file_ >= 0) static_cast<void>(::fchmod(file_, mode));
    if (file_ < 0 && errno == EEXIST) file_ = ::open(beside.c_str(), how);
    if (file_ < 0) return errno;
    if (!process_) return 0;
    struct flock mine = one_byte(F_RDLCK, *process_);
    if (::fcntl(file_, F_OFD_SETLK, &mine) == 0) return 0;
    const int why = errno;
    close();
    return why;
}

bool process_liveness::use_clock() const noexcept {
    struct flock mine = one_byte(F_RDLCK, clock_byte);
    return file_ >= 0 && ::fcntl(file_, F_OFD_SETLK, &mine) == 0;
}

void process_liveness::close() noexcept {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
}

bool process_liveness::may_live(std::int64_t process) const noexcept {
    if (file_ < 0) return true;
    struct flock seen = one_byte(F_WRLCK, process);
    if (::fcntl(file_, F_OFD_GETLK, &seen) != 0) return true;
    return seen.l_type != F_UNLCK;
}

}  // namespace holdfast::sqlite
