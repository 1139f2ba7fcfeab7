// SPDX-License-Identifier: Apache-2.0
#include "driver/etcd/key_record.hpp"

namespace holdfast::etcd {
namespace {

constexpr std::string_view record_mark = "K1";
constexpr std::size_t number_bytes = 8;

void put_number(std::string& to, std::uint64_t number) {
    for (std::size_t i = 0; i < number_bytes; ++i) {
        to += static_cast<char>((number >> (8 * i)) & 0xFFU);
    }
}

std::uint64_t take_number(std::string_view& from) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < number_bytes; ++i) {
        number |= std::uint64_t{static_cast<unsigned char>(from[i])} << (8 * i);
    }
    from.remove_prefix(number_bytes);
    return number;
}

}  // namespace

std::string to_bytes(const key_record& record) {
    std::string bytes(record_mark);
    bytes.reserve(record_mark.size() + 3 * number_bytes + record.image.bytes.size());
    put_number(bytes, record.writer);
    put_number(bytes, static_cast<std::uint64_t>(record.written_us));
    put_number(bytes, static_cast<std::uint64_t>(record.image.expires_ms));
    return bytes += record.image.bytes;
}

std::optional<key_record> read_key_record(std::string_view bytes) {
    if (!bytes.starts_with(record_mark) || bytes.size() < record_mark.size() + 3 * number_bytes) {
        return std::nullopt;
    }
    bytes.remove_prefix(record_mark.size());
    key_record record;
    record.writer = take_number(bytes);
    record.written_us = static_cast<std::int64_t>(take_number(bytes));
    record.image.expires_ms = static_cast<std::int64_t>(take_number(bytes));
    record.image.bytes = bytes;
    return record;
}

}  // namespace holdfast::etcd
