// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/command_table.hpp"

#include "driver/memory/hash_bytes.hpp"

#include <string>

namespace holdfast::memory {

namespace {

char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

bool names(std::string_view given, std::string_view name) noexcept {
    if (given.size() != name.size()) return false;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (lower(given[i]) != name[i]) return false;
    }
    return true;
}

}  // namespace

const command_table& command_table::instance() {
    static const command_table table;
    return table;
}

command_table::command_table() {
    for (const auto family :
         {string_commands(),       bit_commands(),         key_commands(),
          expiry_commands(),       scan_commands(),        hash_commands(),
          list_commands(),         list_move_commands(),   set_commands(),
          set_algebra_commands(),  sorted_set_commands(),  sorted_set_range_commands(),
          stream_commands(),       stream_read_commands(), stream_group_commands(),
          stream_claim_commands(), stream_info_commands(), publish_commands(),
          transaction_commands(),  script_commands(),      server_commands(),
          config_commands(),       command_commands(),     connection_commands()}) {
        add(family);
    }
}

// Each name is laid in twice, under its spelling in small letters and under that in capitals: one
// of the two is what callers send.
void command_table::add(std::span<const command_spec> family) {
    for (const command_spec& spec : family) {
        std::string upper(spec.name);
        for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
        for (const std::string_view spelling : {spec.name, std::string_view(upper)}) {
            std::size_t at = hash_bytes(spelling, 0) % slots;
            while (table_[at] != nullptr) at = (at + 1) % slots;
            table_[at] = &spec;
        }
        all_.push_back(&spec);
    }
}

const command_spec* command_table::look(std::string_view spelling,
                                        std::string_view name) const noexcept {
    std::size_t at = hash_bytes(spelling, 0) % slots;
    while (table_[at] != nullptr && !names(name, table_[at]->name)) at = (at + 1) % slots;
    return table_[at];
}

const command_spec* command_table::find(std::string_view name) const noexcept {
    if (name.size() > longest_name) return nullptr;
    if (const command_spec* found = look(name, name)) return found;
    std::array<char, longest_name> room;  // perhaps it is written Like This
    for (std::size_t i = 0; i < name.size(); ++i) room[i] = lower(name[i]);
    return look({room.data(), name.size()}, name);
}

const command_spec* command_table::find(std::span<const std::string_view> words) const noexcept {
    const command_spec* found = words.empty() ? nullptr : find(words[0]);
    if (found == nullptr || found->parts.empty() || words.size() < 2) return found;
    for (const command_spec& part : found->parts) {
        if (names(words[1], part.name.substr(found->name.size() + 1))) return &part;
    }
    return nullptr;
}

}  // namespace holdfast::memory
