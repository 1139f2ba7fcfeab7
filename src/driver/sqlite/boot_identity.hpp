// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <string>

/// Which boot of the machine this is, and how this process reads the clock since that boot.
///
/// Both may differ between containers that share a file. systemd-nspawn gives each container a boot
/// id of its own; a time namespace gives it a CLOCK_BOOTTIME of its own. The kernel tells the
/// offset of the namespace, so all processes of one kernel can compute one common time.
namespace holdfast::sqlite {

struct boot_identity {
    std::string boot;
    /// How far this process's clock is ahead of the machine's own; µs.
    std::int64_t offset = 0;
};

/// Where the kernel tells the id of the boot.
inline constexpr const char* kernel_boot_id = "/proc/sys/kernel/random/boot_id";

/// Errors: unsupported, if the kernel does not tell either of them (a chroot without /proc, a unit
/// with ProcSubset=pid). A clock that is not the machine's own has the file's id, if that is not
/// the kernel's, and no offset.
[[nodiscard]] result<boot_identity> identify_boot(const clock& time, const std::string& id_file);

}  // namespace holdfast::sqlite
