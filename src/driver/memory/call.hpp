// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/keyspace.hpp"
#include "driver/memory/numbers.hpp"
#include "driver/memory/sink.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

/// One command being carried out: its words, where its answer goes, and what it may touch.
///
/// A command that cannot go on throws a `refusal`, which becomes an error reply in the one place
/// that runs commands. So a command reads as what it does when all is well. It throws before it has
/// changed anything and before it has answered anything.
namespace holdfast::memory {

class engine_core;
struct command_spec;
struct connection;

/// An error reply on its way out.
struct refusal {
    std::string text;
};

[[noreturn]] inline void refuse(std::string text) {
    throw refusal{std::move(text)};
}
[[noreturn]] void refuse_syntax();
[[noreturn]] void refuse_type();
/// "wrong number of arguments for 'get' command".
[[noreturn]] void refuse_arity(std::string_view command);

struct call {
    engine_core& core;
    keyspace& db;
    connection& from;
    sink& out;
    std::span<const std::string_view> args;
    const command_spec* spec = nullptr;

    [[nodiscard]] std::string_view arg(std::size_t i) const { return args[i]; }
    [[nodiscard]] std::size_t count() const noexcept { return args.size(); }
    [[nodiscard]] bool is(std::size_t i, std::string_view lower) const {
        return is_word(args[i], lower);
    }

    [[nodiscard]] std::int64_t integer(std::size_t i) const;
    [[nodiscard]] std::int64_t integer(std::size_t i, std::string_view otherwise) const;
    /// For a count that must not be negative; the error is Redis's for such.
    [[nodiscard]] std::int64_t positive(std::size_t i) const;
    [[nodiscard]] double number(std::size_t i) const;

    /// The T that the key holds, null if there is no such key. Refuses another type.
    template <class T>
    [[nodiscard]] T* look(std::string_view key) const {
        key_node* n = db.find(key);
        return n == nullptr ? nullptr : &as<T>(*n);
    }

    template <class T>
    [[nodiscard]] static T& as(key_node& n) {
        T* held = get_if<T>(n.value.data);
        if (held == nullptr) refuse_type();
        return *held;
    }

    /// The T that the key holds, made empty if there is no such key. Refuses another type.
    template <class T>
    [[nodiscard]] T& make(std::string_view key) const {
        if (key_node* n = db.find(key)) return as<T>(*n);
        return *get_if<T>(db.insert(key, fresh<T>()).value.data);
    }

    /// Removes the key if what it holds has become empty, and tells watchers that it changed.
    template <class T>
    void changed(std::string_view key, const T& held) const {
        if (held.size() == 0) db.erase(*db.find(key));
        db.modified(key);
    }

private:
    template <class T>
    [[nodiscard]] value fresh() const {
        if constexpr (std::is_same_v<T, std::string>) {
            return std::string();
        } else if constexpr (std::is_same_v<T, list_value> || std::is_same_v<T, stream>) {
            return std::make_unique<T>();
        } else {
            return std::make_unique<T>(db.seed());
        }
    }
};

/// How Redis prints a word in an error: as C does, up to a zero byte.
[[nodiscard]] std::string_view printed(std::string_view text,
                                       std::size_t most = std::string_view::npos) noexcept;

/// The most bytes that one string may have, as in Redis.
inline constexpr std::size_t longest_string = 512UL * 1024 * 1024;

/// A range [first, first + count) that two signed ends mean in a sequence of `size`, -1 the last.
struct index_range {
    std::size_t first = 0;
    std::size_t count = 0;
};
[[nodiscard]] index_range resolve_range(std::int64_t start, std::int64_t stop,
                                        std::size_t size) noexcept;

}  // namespace holdfast::memory
