// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/call.hpp"
#include "driver/memory/stream.hpp"

#include <cstddef>
#include <optional>
#include <string_view>

/// The words that commands on streams have in common: ids, ends of a range, and an entry as an
/// answer.
namespace holdfast::memory {

struct parsed_stream_id {
    stream_id id;
    bool any_seq = false;  ///< "5-*": the stream chooses the second number.
};

/// An id: "5-1", or "5" with `seq` as its second number. Nothing if it is none.
[[nodiscard]] std::optional<stream_id> parse_stream_id(std::string_view text, std::uint64_t seq);
/// The same, and "5-*".
[[nodiscard]] std::optional<parsed_stream_id> parse_new_stream_id(std::string_view text);

/// A word that must be an id; refuses what is none.
[[nodiscard]] stream_id stream_id_word(const call& c, std::size_t i, std::uint64_t seq = 0);

/// The same, also "-" and "+".
[[nodiscard]] stream_id stream_end_word(const call& c, std::size_t i);

/// The ends of a range: an id, "-" or "+", and "(" before an id that shall not be part of it.
[[nodiscard]] stream_id range_start_word(const call& c, std::size_t i);
[[nodiscard]] stream_id range_end_word(const call& c, std::size_t i);

/// The group that the words name; refuses with NOGROUP if there is none, or no such stream.
[[nodiscard]] stream::group& stream_group_of(const call& c, std::size_t key, std::size_t group);

void put_stream_entry(sink& out, const stream_id& id, const stream::fields& what);

}  // namespace holdfast::memory
