// SPDX-License-Identifier: Apache-2.0
#include "resp/reply_writer.hpp"

#include "driver/memory/numbers.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace holdfast::resp {

bool reply_writer::fits(std::size_t more) noexcept {
    if (out_.size() + more <= most_) return true;
    overflowed_ = true;
    return false;
}

void reply_writer::header(char kind, std::int64_t number) {
    std::array<char, 24> text;
    text[0] = kind;
    char* end = std::to_chars(text.data() + 1, text.data() + text.size() - 2, number).ptr;
    *end++ = '\r';
    *end++ = '\n';
    const auto length = static_cast<std::size_t>(end - text.data());
    if (fits(length)) out_.append(text.data(), length);
}

// A line ends at the first \r or \n, so neither may stand in it.
void reply_writer::line(char kind, std::string_view text) {
    if (!fits(text.size() + 3)) return;
    out_ += kind;
    for (const char c : text) out_ += c == '\r' || c == '\n' ? ' ' : c;
    out_ += "\r\n";
}

void reply_writer::nil() {
    if (fits(5)) out_ += how_ == protocol::resp3 ? "_\r\n" : "$-1\r\n";
}

void reply_writer::nil_array() {
    if (fits(5)) out_ += how_ == protocol::resp3 ? "_\r\n" : "*-1\r\n";
}

void reply_writer::status(std::string_view text) {
    if (text == "OK" && fits(5)) {
        out_ += "+OK\r\n";
    } else {
        line('+', text);
    }
}

void reply_writer::error(std::string_view text) {
    line('-', text);
}

void reply_writer::string(std::string_view text) {
    header('$', static_cast<std::int64_t>(text.size()));
    if (!fits(text.size() + 2)) return;
    out_.append(text);
    out_.append("\r\n", 2);
}

void reply_writer::number(double value) {
    memory::number_text room;
    const std::string_view text = memory::format_double(value, room);
    how_ == protocol::resp3 ? line(',', text) : string(text);
}

void reply_writer::map(std::size_t pairs) {
    how_ == protocol::resp3 ? length_header('%', pairs) : length_header('*', pairs * 2);
}

void reply_writer::set(std::size_t length) {
    length_header(how_ == protocol::resp3 ? '~' : '*', length);
}

void reply_writer::push(std::size_t length) {
    length_header(how_ == protocol::resp3 ? '>' : '*', length);
}

void reply_writer::whole(const reply& r) {
    switch (r.type()) {
        case reply::kind::nil: return nil();
        case reply::kind::status: return status(r.text());
        case reply::kind::error: return error(r.text());
        case reply::kind::integer: return integer(r.number());
        case reply::kind::string: return string(r.text());
        case reply::kind::array: break;
    }
    array(r.elements().size());
    for (const reply& one : r.elements()) whole(one);
}

}  // namespace holdfast::resp
