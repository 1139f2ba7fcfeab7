// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/script_text.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace holdfast::memory {

/// A script that some engine has compiled.
struct ready_script {
    std::string sha1;
    std::string code;  ///< For the virtual machine; `world` and `read_only` belong to it.
    script_world world;
    bool read_only = false;
};

/// What engines of this process have compiled, so that the next one need not.
///
/// Programs that open many engines (tests, the simulation with its thousands of servers) run the
/// same few scripts in all of them, and reading a script costs more than running it often. Bounded:
/// it begins anew when it has `most` scripts, and does not keep texts longer than `longest`.
class ready_scripts {
public:
    static ready_scripts& of_process();

    static constexpr std::size_t most = 256;
    static constexpr std::size_t longest = std::size_t{32} * 1024;

    [[nodiscard]] std::shared_ptr<const ready_script> find(std::string_view source) const;
    std::shared_ptr<const ready_script> keep(std::string_view source, ready_script made);

private:
    struct hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    mutable std::mutex mutex_;
    std::unordered_map<std::string, std::shared_ptr<const ready_script>, hash, std::equal_to<>>
        made_;
};

}  // namespace holdfast::memory
