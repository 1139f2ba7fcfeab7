// SPDX-License-Identifier: Apache-2.0
//
// Looks at the file of sqlite: from outside: where it lies, who may touch it, and its first bytes.
#include "doctor/examinations.hpp"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace holdfast::app {
namespace {

namespace fs = std::filesystem;
using level = finding::level;

struct network_file_system {
    std::uint32_t magic;
    std::string_view name;
};

// SQLite's exclusion rests on the locks of the file system, which these do not keep reliably
// between machines.
constexpr std::array networks{
    network_file_system{NFS_SUPER_MAGIC, "NFS"},   network_file_system{SMB_SUPER_MAGIC, "SMB"},
    network_file_system{SMB2_SUPER_MAGIC, "SMB"},  network_file_system{CIFS_SUPER_MAGIC, "CIFS"},
    network_file_system{AFS_SUPER_MAGIC, "AFS"},   network_file_system{CODA_SUPER_MAGIC, "Coda"},
    network_file_system{CEPH_SUPER_MAGIC, "Ceph"}, network_file_system{V9FS_MAGIC, "9p"},
    network_file_system{0x0BD00BD0, "Lustre"},     network_file_system{0x47504653, "GPFS"},
};

constexpr std::uint64_t few_bytes = std::uint64_t{16} << 20;

findings examine_place(const fs::path& file) {
    const std::string where = file.native();
    struct statfs place{};
    if (::statfs(file.parent_path().c_str(), &place) != 0) {
        return {{level::unsafe, "file", where,
                 fmt::format("its directory cannot be looked at ({})",
                             std::generic_category().message(errno)),
                 "make the directory, or mend its permissions"}};
    }
    findings found;
    const auto magic = static_cast<std::uint32_t>(place.f_type);
    const auto network = std::ranges::find(networks, magic, &network_file_system::magic);
    if (network != networks.end()) {
        found.push_back(
            {level::unsafe, "file system", where,
             fmt::format("the file is on a network file system ({}), whose locks cannot "
                         "be relied on",
                         network->name),
             "put it on a disk of this machine, or use redis:// for many machines"});
    } else if (magic == FUSE_SUPER_MAGIC) {
        found.push_back({level::note, "file system", where,
                         "the file is on a FUSE file system: look whether that keeps locks",
                         "put it on a disk of this machine"});
    } else {
        found.push_back({level::good, "file system", where, "on this machine", ""});
    }
    const std::uint64_t free = place.f_bavail * static_cast<std::uint64_t>(place.f_bsize);
    if (free < few_bytes) {
        found.push_back(
            {level::unsafe, "disk", where,
             fmt::format("{} KiB are free: a full disk grants and renews nothing", free >> 10),
             "make room"});
    }
    return found;
}

findings examine_permissions(const fs::path& file) {
    findings found;
    for (const fs::path& one : {file, file.parent_path()}) {
        struct stat seen{};
        if (::stat(one.c_str(), &seen) != 0) continue;
        const bool sticky = (seen.st_mode & S_ISVTX) != 0 && S_ISDIR(seen.st_mode);
        if ((seen.st_mode & S_IWOTH) != 0 && !sticky) {
            found.push_back({level::unsafe, "permissions", one.native(),
                             "everyone on this machine may write it, and so break any lock",
                             fmt::format("chmod o-w {}", one.native())});
        } else if ((seen.st_mode & S_IWGRP) != 0) {
            found.push_back({level::note, "permissions", one.native(),
                             "its group may write it: right only if they share these locks", ""});
        }
    }
    if (found.empty()) {
        found.push_back({level::good, "permissions", file.native(), "only its user writes it", ""});
    }
    return found;
}

// Bytes 18 and 19 of the file are 2 in WAL mode (the SQLite file format).
findings examine_journal(const fs::path& file) {
    std::array<char, 20> head{};
    std::ifstream bytes(file, std::ios::binary);
    bytes.read(head.data(), head.size());
    if (!bytes) {
        return {{level::note, "file", file.native(), "it is not there yet, or empty", ""}};
    }
    if (!std::string_view(head.data(), 16).starts_with("SQLite format 3")) {
        return {
            {level::unsafe, "file", file.native(), "it is no SQLite file", "name another file"}};
    }
    if (head[18] == 2 && head[19] == 2) {
        return {{level::good, "journal", file.native(), "write-ahead log", ""}};
    }
    return {{level::note, "journal", file.native(),
             "no write-ahead log: correct, but readers and writers wait for each other",
             "PRAGMA journal_mode = WAL"}};
}

}  // namespace

findings examine_file(const url& where) {
    const fs::path file = where.path;
    findings found = examine_place(file);
    for (findings more : {examine_permissions(file), examine_journal(file)}) {
        std::ranges::move(more, std::back_inserter(found));
    }
    return found;
}

}  // namespace holdfast::app
