// SPDX-License-Identifier: Apache-2.0
#include "push/room_keys.hpp"

#include "core/hash_slot.hpp"

#include <fmt/format.h>

namespace holdfast::push {
namespace {

std::string tag_of(const settings& s, std::size_t partition) {
    return s.tagged ? fmt::format("{{push{}}}", partition) : std::string();
}

}  // namespace

room_keys::room_keys(const settings& s, std::string_view room)
    : prefix_(s.prefix),
      room_(room),
      tag_(s.tagged ? tag_of(s, hash_slot(room) % partition_count(s)) : std::string()) {}

std::size_t partition_count(const settings& s) noexcept {
    return s.tagged ? s.partitions : 1;
}

std::string partition_queue(const settings& s, std::size_t partition) {
    return s.prefix + "push:queue" + tag_of(s, partition);
}

std::string partition_rooms(const settings& s, std::size_t partition) {
    return s.prefix + "push:rooms" + tag_of(s, partition);
}

std::string connection_key(const settings& s, std::string_view connection) {
    return fmt::format("{}connection:info:{}", s.prefix, connection);
}

std::string user_key(const settings& s, std::string_view user) {
    return fmt::format("{}user:online:{}", s.prefix, user);
}

}  // namespace holdfast::push
