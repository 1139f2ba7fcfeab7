// SPDX-License-Identifier: Apache-2.0
//
// Where a script ends with a call is learnt from its words, without parsing it.
//
// LuaJIT makes `return f(x)` a jump that forgets the caller, also where
// Lua 5.1 would not because f is a C function; the line of an error in redis.call would be lost.
// `return nil or f(x)` means the same with one value, and remembers. One value is all that Redis
// takes from a script, and all that redis.call gives; so that is what is compiled, for returns
// outside of functions and for returns of redis.call and redis.pcall. No line changes its number.
#include "driver/memory/script_text.hpp"

#include "driver/memory/call.hpp"

#include <fmt/format.h>

#include <cctype>
#include <vector>

namespace holdfast::memory {
namespace {

bool is_name_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Walks over Lua text, a word or a sign at a time; blanks, comments and strings are passed over.
class word_walk {
public:
    explicit word_walk(std::string_view text) : text_(text) {}

    // The next word or sign, empty at the end. A string is the sign `"`.
    std::string_view next() {
        skip_blanks();
        if (at_ >= text_.size()) return {};
        const std::size_t from = at_;
        const char c = text_[at_];
        if (is_name_char(c)) {
            while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
            return text_.substr(from, at_ - from);
        }
        if (c == '"' || c == '\'') {
            skip_quoted(c);
            return "\"";
        }
        if (c == '[' && skip_long_bracket()) return "\"";
        ++at_;
        return text_.substr(from, 1);
    }

    [[nodiscard]] std::size_t position() const noexcept { return at_; }

private:
    void skip_blanks() {
        while (at_ < text_.size()) {
            if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
                ++at_;
            } else if (text_.substr(at_, 2) == "--") {
                at_ += 2;
                if (at_ < text_.size() && text_[at_] == '[' && skip_long_bracket()) continue;
                while (at_ < text_.size() && text_[at_] != '\n') ++at_;
            } else {
                return;
            }
        }
    }

    void skip_quoted(char quote) {
        for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
            if (text_[at_] == '\\') ++at_;
        }
        if (at_ < text_.size()) ++at_;
    }

    // At `[[`, `[=[`, …: passes over it and answers true.
    bool skip_long_bracket() {
        std::size_t level = at_ + 1;
        while (level < text_.size() && text_[level] == '=') ++level;
        if (level >= text_.size() || text_[level] != '[') return false;
        std::string close(level - at_ + 1, '=');
        close.front() = close.back() = ']';
        const std::size_t end = text_.find(close, level + 1);
        at_ = end == std::string_view::npos ? text_.size() : end + close.size();
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

bool calls_redis(word_walk ahead) {
    if (ahead.next() != "redis" || ahead.next() != ".") return false;
    const std::string_view name = ahead.next();
    return name == "call" || name == "pcall";
}

bool starts_expression(word_walk ahead) {
    const std::string_view word = ahead.next();
    return !word.empty() && word != "end" && word != "else" && word != "elseif" &&
           word != "until" && word != ";";
}

// The positions right after each such `return`.
std::vector<std::size_t> final_calls(std::string_view text) {
    std::vector<std::size_t> found;
    std::vector<bool> blocks;  // is the open block a function?
    std::size_t functions = 0;
    word_walk walk(text);
    for (std::string_view word = walk.next(); !word.empty(); word = walk.next()) {
        if (word == "function" || word == "if" || word == "do" || word == "repeat") {
            blocks.push_back(word == "function");
            functions += word == "function" ? 1U : 0U;
        } else if ((word == "end" || word == "until") && !blocks.empty()) {
            functions -= blocks.back() ? 1U : 0U;
            blocks.pop_back();
        } else if (word == "return" && starts_expression(walk) &&
                   (functions == 0 || calls_redis(walk))) {
            found.push_back(walk.position());
        }
    }
    return found;
}

bool is_plain_library(std::string_view before, word_walk ahead) {
    if (before == "function" || ahead.next() != ".") return false;
    const std::string_view name = ahead.next();
    return !name.empty() && is_name_char(name.front()) && ahead.next() == "(";
}

bool is_plain_table(std::string_view before, word_walk ahead) {
    const std::string_view after = ahead.next();
    return before == "#" || after == "[" || after == ")" || (before == "(" && after == ",");
}

script_world world_of(std::string_view text) {
    if (text.find("...") != std::string_view::npos) return {};
    script_world world{.as_locals = true};
    std::string_view before;
    word_walk walk(text);
    for (std::string_view word = walk.next(); !word.empty(); before = word, word = walk.next()) {
        if (word == "_G" || word == "load" || word == "loadstring") return {};
        if (word == "redis" && !is_plain_library(before, walk)) return {};
        if (word != "KEYS" && word != "ARGV") continue;
        if (!is_plain_table(before, walk)) return {};
        (word == "KEYS" ? world.keys : world.args) = true;
    }
    return world;
}

// "#!lua flags=no-writes,allow-stale" on the first line, as Redis 7 reads it.
bool parse_shebang(std::string_view line) {
    std::vector<std::string_view> parts;
    while (!line.empty()) {
        const std::size_t space = line.find(' ');
        if (space != 0) parts.push_back(line.substr(0, space));
        line.remove_prefix(space == std::string_view::npos ? line.size() : space + 1);
    }
    if (parts.empty() || parts[0] != "#!lua") {
        refuse(fmt::format("ERR Unexpected engine in script shebang: {}",
                           parts.empty() ? "" : parts[0]));
    }
    bool read_only = false;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        constexpr std::string_view option = "flags=";
        if (!parts[i].starts_with(option)) {
            refuse(fmt::format("ERR Unknown lua shebang option: {}", parts[i]));
        }
        std::string_view flags = parts[i].substr(option.size());
        while (!flags.empty()) {
            const std::size_t comma = flags.find(',');
            const std::string_view flag = flags.substr(0, comma);
            if (flag == "no-writes") {
                read_only = true;
            } else if (flag != "allow-oom" && flag != "allow-stale" && flag != "no-cluster" &&
                       flag != "allow-cross-slot-keys") {
                refuse(fmt::format("ERR Unexpected flag in script shebang: {}", flag));
            }
            flags.remove_prefix(comma == std::string_view::npos ? flags.size() : comma + 1);
        }
    }
    return read_only;
}

}  // namespace

script_text read_script(std::string_view source) {
    script_text out;
    std::string_view body = source;
    if (body.starts_with("#!")) {
        const std::size_t end = body.find('\n');
        if (end == std::string_view::npos) refuse("ERR Invalid script shebang");
        out.read_only = parse_shebang(body.substr(0, end));
        body.remove_prefix(end);  // the newline stays, and with it the numbers of the lines
    }
    std::size_t copied = 0;
    for (const std::size_t at : final_calls(body)) {
        out.lua += body.substr(copied, at - copied);
        out.lua += " nil or";
        copied = at;
    }
    out.lua += body.substr(copied);
    out.world = world_of(body);
    return out;
}

}  // namespace holdfast::memory
