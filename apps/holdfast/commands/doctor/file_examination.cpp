// SPDX-License-Identifier: Apache-2.0
//
// Looks at the file of sqlite: from outside: where it lies, who may touch it, and its first bytes.
#include "commands/doctor/examinations.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

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
constexpr std::uint64_t no_bytes = std::uint64_t{256} << 10;  // less than SQLite's log needs

bool may(int what, const fs::path& file) {
    return ::faccessat(AT_FDCWD, file.c_str(), what, AT_EACCESS) == 0;
}

finding unfit_file(const fs::path& file, std::string why, std::string fix = "name another file") {
    return {level::unsafe, "file", file.native(), std::move(why), std::move(fix)};
}

// What keeps it from being a file of ours before it is opened: a pipe would keep us waiting.
std::optional<finding> examine_kind(const fs::path& file) {
    struct stat seen{};
    if (::stat(file.c_str(), &seen) != 0) return std::nullopt;
    if (S_ISDIR(seen.st_mode)) return unfit_file(file, "it is a directory");
    if (!S_ISREG(seen.st_mode)) return unfit_file(file, "it is not a regular file");
    if (seen.st_nlink == 1) return std::nullopt;
    return unfit_file(file,
                      "it has other names too (hard links), and SQLite keeps a log beside each: "
                      "there could be two holders at once",
                      "remove the other names, or name another file");
}

// The same by its first bytes (the SQLite file format).
std::optional<finding> examine_contents(const fs::path& file) {
    constexpr std::size_t schema_at = 40;
    constexpr std::size_t id_at = 68;
    std::error_code none;
    std::array<char, id_at + 4> head{};
    std::ifstream bytes(file, std::ios::binary);
    if (!bytes || fs::file_size(file, none) == 0) return std::nullopt;
    bytes.read(head.data(), head.size());
    const std::string_view seen(head.data(), head.size());
    if (!bytes || !seen.starts_with("SQLite format 3")) {
        return unfit_file(file, "it is no SQLite file");
    }
    // Nothing was ever made in it: perhaps by us, when the disk became full.
    if (seen.substr(schema_at, 4) == std::string_view("\0\0\0\0", 4)) return std::nullopt;
    // What was written last may be in the log alone: then SQLite has to look.
    const bool logged = fs::file_size(file.native() + "-wal", none) > 0 && !none;
    if (!logged && !seen.ends_with("Hold")) {
        return unfit_file(file, "it is another program's database");
    }
    return std::nullopt;
}

// What keeps this user from taking a lease.
std::optional<finding> examine_access(const fs::path& file) {
    const fs::path folder = file.parent_path();
    const auto unfit = [&](std::string about, std::string why, std::string fix) {
        return finding{level::unsafe, std::move(about), file.native(), std::move(why),
                       std::move(fix)};
    };
    std::error_code none;
    if (!fs::is_directory(folder, none)) {
        return unfit("file", "its directory does not exist, or cannot be read",
                     "make the directory, or fix its permissions");
    }
    const bool there = fs::exists(file, none);
    const bool beside = may(W_OK, folder) || may(W_OK, file.native() + "-wal");
    if (beside && (!there || may(W_OK, file))) return std::nullopt;
    struct statvfs system{};
    if (::statvfs(folder.c_str(), &system) == 0 && (system.f_flag & ST_RDONLY) != 0) {
        return unfit("file system",
                     there ? "it is read-only: what is held can be seen, but nothing be taken"
                           : "it is read-only, and the file is not there",
                     "put the file where it can be written");
    }
    std::string why = "this user may not write its directory, where SQLite keeps its log";
    if (there && !may(W_OK, file)) {
        why = may(R_OK, file)
                  ? "this user may only read it: what is held can be seen, but nothing be taken"
                  : "this user may neither read nor write it";
    }
    return unfit("permissions", std::move(why), "let this user write the file and its directory");
}

struct statfs system_of(const fs::path& file) {
    struct statfs place{};
    ::statfs(file.parent_path().c_str(), &place);
    return place;
}

std::optional<finding> examine_network(const fs::path& file) {
    const auto magic = static_cast<std::uint32_t>(system_of(file).f_type);
    const auto network = std::ranges::find(networks, magic, &network_file_system::magic);
    if (network == networks.end()) return std::nullopt;
    return finding{level::unsafe, "file system", file.native(),
                   fmt::format("the file is on a network file system ({}), whose locks cannot "
                               "be relied on",
                               network->name),
                   "put it on a disk of this machine, or use redis:// for many machines"};
}

std::optional<finding> examine_disk(const fs::path& file, std::uint64_t least) {
    const struct statfs place = system_of(file);
    const std::uint64_t free = place.f_bavail * static_cast<std::uint64_t>(place.f_bsize);
    if (free >= least) return std::nullopt;
    return finding{
        level::unsafe, "disk", file.native(),
        fmt::format("{} KiB are free: a full disk grants and renews nothing", free >> 10),
        "make room"};
}

finding examine_system(const fs::path& file) {
    if (static_cast<std::uint32_t>(system_of(file).f_type) == FUSE_SUPER_MAGIC) {
        return {level::note, "file system", file.native(),
                "the file is on a FUSE file system: look whether that keeps locks",
                "put it on a disk of this machine"};
    }
    return {level::good, "file system", file.native(), "on this machine", ""};
}

findings examine_permissions(const fs::path& file) {
    findings found;
    for (const fs::path& one : {file, file.parent_path()}) {
        struct stat seen{};
        if (::stat(one.c_str(), &seen) != 0) continue;
        const bool sticky = (seen.st_mode & S_ISVTX) != 0 && S_ISDIR(seen.st_mode);
        if ((seen.st_mode & S_IWOTH) != 0 && !sticky) {
            found.push_back({level::unsafe, "permissions", one.native(),
                             "everyone on this machine may write it, and so end any lock",
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
    if (head[18] == 2 && head[19] == 2) {
        return {{level::good, "journal", file.native(), "write-ahead log", ""}};
    }
    return {{level::note, "journal", file.native(),
             "no write-ahead log: correct, but readers and writers wait for each other",
             "PRAGMA journal_mode = WAL"}};
}

}  // namespace

std::optional<finding> find_obstacle(const url& where) {
    const fs::path file = where.path;
    if (auto found = examine_kind(file)) return found;
    if (auto found = examine_contents(file)) return found;
    if (auto found = examine_access(file)) return found;
    if (auto found = examine_network(file)) return found;
    return examine_disk(file, no_bytes);
}

findings examine_file(const url& where) {
    const fs::path file = where.path;
    findings found{examine_system(file)};
    if (auto disk = examine_disk(file, few_bytes)) found.push_back(*std::move(disk));
    for (findings more : {examine_permissions(file), examine_journal(file)}) {
        std::ranges::move(more, std::back_inserter(found));
    }
    return found;
}

}  // namespace holdfast::app
