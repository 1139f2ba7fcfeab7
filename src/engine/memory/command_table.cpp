// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/command_table.hpp"

#include "engine/memory/hash_bytes.hpp"

namespace holdfast::memory {

const command_table& command_table::instance() {
    static const command_table table;
    return table;
}

command_table::command_table() {
    for (const auto family :
         {string_commands(), bit_commands(), key_commands(), expiry_commands(), scan_commands(),
          hash_commands(), list_commands(), list_move_commands(), set_commands(),
          set_algebra_commands(), sorted_set_commands(), sorted_set_range_commands(),
          publish_commands(), transaction_commands(), script_commands(), server_commands()}) {
        add(family);
    }
}

void command_table::add(std::span<const command_spec> family) {
    for (const command_spec& spec : family) {
        std::size_t at = hash_bytes(spec.name, 0) % slots;
        while (table_[at] != nullptr) at = (at + 1) % slots;
        table_[at] = &spec;
        ++size_;
    }
}

const command_spec* command_table::find(std::string_view name) const noexcept {
    if (name.size() > longest_name) return nullptr;
    std::array<char, longest_name> room;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        room[i] = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    }
    const std::string_view lower(room.data(), name.size());
    std::size_t at = hash_bytes(lower, 0) % slots;
    while (table_[at] != nullptr && table_[at]->name != lower) at = (at + 1) % slots;
    return table_[at];
}

}  // namespace holdfast::memory
