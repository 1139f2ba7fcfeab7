// SPDX-License-Identifier: Apache-2.0
#include "net/deflate.hpp"

#include <boost/beast/zlib/deflate_stream.hpp>
#include <boost/beast/zlib/inflate_stream.hpp>

#include <algorithm>

namespace holdfast::net {
namespace zlib = boost::beast::zlib;
namespace {

// What a flushed stream ends with, and RFC 7692 leaves out.
constexpr std::string_view flush_tail("\x00\x00\xFF\xFF", 4);
constexpr int level = 6;
constexpr int window_bits = 15;
constexpr int memory_level = 8;

}  // namespace

std::string deflate_message(std::string_view plain) {
    thread_local zlib::deflate_stream stream;
    stream.reset(level, window_bits, memory_level, zlib::Strategy::normal);
    std::string out(stream.upper_bound(plain.size()) + 16, '\0');
    zlib::z_params work;
    work.next_in = plain.data();
    work.avail_in = plain.size();
    work.next_out = out.data();
    work.avail_out = out.size();
    boost::system::error_code failed;
    stream.write(work, zlib::Flush::sync, failed);
    out.resize(work.total_out);
    if (out.ends_with(flush_tail)) out.resize(out.size() - flush_tail.size());
    return out;
}

std::optional<std::string> inflate_message(std::string_view packed, std::size_t limit) {
    zlib::inflate_stream stream;
    stream.reset(window_bits);
    std::string input(packed);
    input += flush_tail;
    std::string out;
    zlib::z_params work;
    work.next_in = input.data();
    work.avail_in = input.size();
    boost::system::error_code failed;
    while (!failed) {
        if (out.size() > limit) return std::nullopt;
        const std::size_t before = out.size();
        out.resize(std::min(limit + 1, before + std::max<std::size_t>(1024, packed.size() * 2)));
        work.next_out = out.data() + before;
        work.avail_out = out.size() - before;
        stream.write(work, zlib::Flush::sync, failed);
        out.resize(out.size() - work.avail_out);
        if (work.avail_in == 0 && out.size() == before) break;
    }
    const bool ended = failed == zlib::error::need_buffers || failed == zlib::error::end_of_stream;
    if ((failed && !ended) || out.size() > limit) return std::nullopt;
    return out;
}

}  // namespace holdfast::net
