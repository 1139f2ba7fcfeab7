// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/lua_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace holdfast::memory {

lua_memory::~lua_memory() {
    for (free_list& list : kept_) {
        while (list.head != nullptr) {
            free_block* block = list.head;
            list.head = block->next;
            std::free(block);
        }
    }
}

void* lua_memory::allocate(void* self, void* block, std::size_t old_size, std::size_t new_size) {
    auto& memory = *static_cast<lua_memory*>(self);
    if (block == nullptr) old_size = 0;
    if (new_size == 0) {
        if (block != nullptr) memory.give_back(block, old_size);
        memory.used_ -= old_size;
        return nullptr;
    }
    const bool grows = new_size > old_size;
    if (memory.bounded_ && grows && memory.used_ + (new_size - old_size) > memory.most_) {
        return nullptr;
    }
    void* fresh =
        block == nullptr ? memory.take(new_size) : memory.resize(block, old_size, new_size);
    if (fresh != nullptr) memory.used_ += new_size - old_size;
    return fresh;
}

void* lua_memory::take(std::size_t size) noexcept {
    if (!is_small(size)) return std::malloc(size);
    free_list& list = list_of(size);
    if (list.head == nullptr) return std::malloc((size + grain - 1) / grain * grain);
    --list.length;
    free_block* block = list.head;
    list.head = block->next;
    return block;
}

void lua_memory::give_back(void* block, std::size_t size) noexcept {
    if (!is_small(size)) return std::free(block);
    free_list& list = list_of(size);
    if (list.length == most_kept) return std::free(block);
    ++list.length;
    list.head = new (block) free_block{list.head};
}

void* lua_memory::resize(void* block, std::size_t old_size, std::size_t new_size) noexcept {
    if (!is_small(old_size) && !is_small(new_size)) return std::realloc(block, new_size);
    void* fresh = take(new_size);
    if (fresh == nullptr) return nullptr;
    std::memcpy(fresh, block, std::min(old_size, new_size));
    give_back(block, old_size);
    return fresh;
}

}  // namespace holdfast::memory
