// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// The memory of the scripts: counted, bounded while a script runs, and quick for small blocks.
///
/// A run of a script makes a dozen tables and strings of some tens of bytes, and the collector
/// frees them in bursts. Small blocks that are freed are therefore kept in a list per size, up to
/// `most_kept` each (about two megabytes in all), and handed out again without asking the heap.
///
/// Requires: the engine's mutex is held.
namespace holdfast::memory {

class lua_memory {
public:
    explicit lua_memory(std::size_t most) noexcept : most_(most) {}
    ~lua_memory();
    lua_memory(const lua_memory&) = delete;
    lua_memory& operator=(const lua_memory&) = delete;

    /// A lua_Alloc; `self` is a lua_memory.
    static void* allocate(void* self, void* block, std::size_t old_size, std::size_t new_size);

    /// Refuses what exceeds the bound from now on. Only while Lua catches the failure.
    void bound(bool on) noexcept { bounded_ = on; }

    [[nodiscard]] std::size_t used() const noexcept { return used_; }
    [[nodiscard]] std::size_t most() const noexcept { return most_; }

private:
    static constexpr std::size_t grain = 16;
    static constexpr std::size_t classes = 8;  // up to 128 bytes
    static constexpr std::uint32_t most_kept = 4096;

    struct free_block {
        free_block* next;
    };
    struct free_list {
        free_block* head = nullptr;
        std::uint32_t length = 0;
    };

    [[nodiscard]] static bool is_small(std::size_t size) noexcept {
        return size <= grain * classes;
    }
    [[nodiscard]] free_list& list_of(std::size_t size) noexcept {
        return kept_[(size - 1) / grain];
    }
    [[nodiscard]] void* take(std::size_t size) noexcept;
    void give_back(void* block, std::size_t size) noexcept;
    [[nodiscard]] void* resize(void* block, std::size_t old_size, std::size_t new_size) noexcept;

    std::size_t used_ = 0;
    std::size_t most_;
    bool bounded_ = false;
    std::array<free_list, classes> kept_{};
};

}  // namespace holdfast::memory
