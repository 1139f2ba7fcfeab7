// SPDX-License-Identifier: Apache-2.0
#include "driver/sqlite/boot_identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

namespace holdfast::sqlite {
namespace {

// What an id is made of. Anything else is not what the kernel writes.
bool is_id(std::string_view text) {
    constexpr std::size_t longest = 64;
    constexpr std::string_view letters = "0123456789abcdefABCDEF-";
    return !text.empty() && text.size() <= longest &&
           text.find_first_not_of(letters) == std::string_view::npos;
}

result<std::string> read_id(const std::string& file) {
    std::ifstream from(file);
    std::string id;
    from >> id;
    if (is_id(id)) return id;
    return fail(errc::unsupported,
                fmt::format("{} cannot be read, so processes of this boot cannot be told from "
                            "those of another one: mount /proc with its sys directory (systemd: "
                            "ProcSubset=all), or use an engine with a server",
                            file));
}

std::optional<std::int64_t> read_offset() {
    std::ifstream from("/proc/self/timens_offsets");
    std::string of;
    std::int64_t seconds = 0;
    std::int64_t nanos = 0;
    while (from >> of >> seconds >> nanos) {
        if (of == "boottime") return seconds * 1'000'000 + nanos / 1000;
    }
    return std::nullopt;
}

// A kernel without time namespaces has no such link. The offsets that it tells are those of the
// process's children; usually that is the same namespace.
result<std::int64_t> namespace_offset() {
    std::error_code none;
    const auto mine = std::filesystem::read_symlink("/proc/self/ns/time", none);
    if (none) return 0;
    const auto childrens = std::filesystem::read_symlink("/proc/self/ns/time_for_children", none);
    const auto offset = read_offset();
    if (!none && mine == childrens && offset) return *offset;
    return fail(errc::unsupported,
                "the offset of this process's time namespace cannot be read from "
                "/proc/self/timens_offsets: start it in the namespace (unshare --fork), or use an "
                "engine with a server");
}

}  // namespace

result<boot_identity> identify_boot(const clock& time, const std::string& id_file) {
    const bool machines = &time == &system_clock();
    if (!machines && id_file == kernel_boot_id) return boot_identity{"a clock of a test", 0};
    auto id = read_id(id_file);
    if (!id) return std::unexpected(std::move(id.error()));
    if (!machines) return boot_identity{std::move(*id), 0};
    const auto offset = namespace_offset();
    if (!offset) return std::unexpected(offset.error());
    return boot_identity{std::move(*id), *offset};
}

}  // namespace holdfast::sqlite
