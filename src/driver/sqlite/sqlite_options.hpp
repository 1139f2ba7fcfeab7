// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/sqlite/boot_identity.hpp"

#include <holdfast/clock.hpp>

#include <cstdint>
#include <string>

namespace holdfast::sqlite {

struct sqlite_options {
    std::string path;
    /// How long to wait while another process writes. A write takes well under a millisecond: who
    /// waits for longer is behind one that was stopped in the middle, or a backup tool.
    duration busy_timeout = std::chrono::seconds(2);
    /// Sync each transaction to the disk. Without it, a loss of power may forget the last ones; all
    /// who held something are gone then too, and fences go on from the clock.
    bool full_sync = false;
    /// Make a file that is not there. Otherwise nothing is held as long as it is not, and nothing
    /// can be taken.
    bool create = true;
    /// How large the file may grow, in pages of 4 KiB; 0 for as large as the disk allows.
    std::int64_t most_pages = 0;
    /// Where the kernel tells which boot this is. Tests name another file.
    std::string boot_id_file = kernel_boot_id;
};

}  // namespace holdfast::sqlite
