// SPDX-License-Identifier: Apache-2.0
#include "driver/mysql/mysql_connection.hpp"

#include "driver/mysql/mysql_dialect.hpp"
#include "driver/mysql/mysql_listener.hpp"
#include "driver/mysql/mysql_schema.hpp"

#include <fmt/format.h>

#include <mysql.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace holdfast::mysql {
namespace {

using sql::sentence;

// The most places that a prepared statement has for its values.
constexpr std::size_t most_places = 32;

// What is prepared, if it runs by itself.
bool is_quick(sentence what) {
    switch (what) {
        case sentence::take:
        case sentence::take_gate:
        case sentence::extend:
        case sentence::release_free: return true;
        default: return false;
    }
}

// What changes something when it runs by itself.
bool changes(sentence what) {
    return is_quick(what) || static_cast<std::size_t>(what) >= sql::sentence_count;
}

class text_row final : public sql::row {
public:
    text_row(MYSQL_ROW texts, const unsigned long* sizes) : texts_(texts), sizes_(sizes) {}
    [[nodiscard]] bool is_null(int column) const override { return texts_[column] == nullptr; }
    [[nodiscard]] std::int64_t number(int column) const override {
        const std::string_view digits = text(column);
        std::int64_t value = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return value;
    }
    [[nodiscard]] std::string_view text(int column) const override {
        if (is_null(column)) return {};
        return {texts_[column], sizes_[column]};
    }

private:
    MYSQL_ROW texts_;
    const unsigned long* sizes_;
};

void read_rows(const statement_result& from, sql::call& into) {
    into.rows = from.changed;
    into.told = from.told;
    if (from.rows == nullptr) return;
    while (const MYSQL_ROW texts = ::mysql_fetch_row(from.rows)) {
        const text_row one(texts, ::mysql_fetch_lengths(from.rows));
        if (into.reader != nullptr) (*into.reader)(one);
    }
}

/// Values as the library takes them, in the order of their places. The values outlive it.
class bound_values {
public:
    bound_values(std::span<const std::size_t> places, std::span<const sql::value> values) {
        for (const std::size_t place : places) {
            const sql::value& one = values[place];
            MYSQL_BIND& here = all_[count_];
            if (one.is_text()) {
                here.buffer_type = MYSQL_TYPE_BLOB;
                here.buffer = const_cast<char*>(one.text().data());
                here.buffer_length = one.text().size();
            } else {
                numbers_[count_] = one.number();
                here.buffer_type = MYSQL_TYPE_LONGLONG;
                here.buffer = &numbers_[count_];
            }
            ++count_;
        }
    }
    [[nodiscard]] std::span<MYSQL_BIND> all() noexcept { return std::span(all_).first(count_); }

private:
    std::array<std::int64_t, most_places> numbers_;
    std::array<MYSQL_BIND, most_places> all_{};
    std::size_t count_ = 0;
};

}  // namespace

mysql_connection::mysql_connection(const mysql_options& options, clock& time,
                                   std::span<const statement_text> further)
    : options_(options), clock_(time), further_(further), link_(options) {}

const statement_text& mysql_connection::words_of(sentence what) const {
    const auto at = static_cast<std::size_t>(what);
    return at < sql::sentence_count ? text_of(what) : further_[at - sql::sentence_count];
}

result<void> mysql_connection::ready(time_point give_up) {
    const duration left = give_up - clock_.now();
    if (left <= duration::zero()) {
        return fail(errc::unavailable, fmt::format("{}: no time was left", link_.label()));
    }
    deadline_ = system_clock().now() + left;
    lost_conflict_ = in_transaction_ = begun_ = false;
    unsent_.clear();
    unsent_count_ = 0;
    to_wake_.clear();
    if (link_.is_open() && !link_.is_quiet()) link_.close();
    if (link_.is_open()) return {};
    for (prepared_statement& one : prepared_) one.reset();
    if (auto opened = link_.open(deadline_); !opened) return opened;
    if (auto fit = check_tables(link_, options_, deadline_); !fit) {
        link_.close();
        return fit;
    }
    return {};
}

error mysql_connection::closed() const {
    return {errc::unavailable,
            fmt::format("{}: the connection was lost; it is made again", link_.label())};
}

// A connection that was lost may have lost the answer alone.
error mysql_connection::failed(const complaint& said, bool doubtful) {
    if (doubtful && !link_.is_open()) {
        return {errc::outcome_unknown,
                fmt::format("{}: the connection was lost while the server worked: it may have been "
                            "carried out ({})",
                            link_.label(), said.words)};
    }
    if (!link_.is_open()) {
        return {errc::unavailable, fmt::format("{}: the connection was lost; nothing was done ({})",
                                               link_.label(), said.words)};
    }
    lost_conflict_ = is_conflict(said.number);
    // Tables that are gone are made again, or found again, by the next connection.
    if (said.number == no_such_table) link_.close();
    return refused(said, link_.label());
}

result<void> mysql_connection::begin() {
    if (!link_.is_open()) return std::unexpected(closed());
    in_transaction_ = true;
    begun_ = lost_conflict_ = false;
    return {};
}

std::size_t mysql_connection::take_unsent(std::string& out) {
    std::size_t count = std::exchange(unsent_count_, 0);
    if (in_transaction_ && !begun_) {
        out += "BEGIN;";
        begun_ = true;
        ++count;
    }
    out += std::exchange(unsent_, {});
    return count;
}

result<std::int64_t> mysql_connection::run(sentence what, std::span<const sql::value> values,
                                           const sql::row_reader& reader) {
    sql::call one{.what = what, .values = values, .reader = &reader};
    if (auto done = run_all({&one, 1}); !done) return std::unexpected(std::move(done.error()));
    return one.rows;
}

result<void> mysql_connection::run_all(std::span<sql::call> calls) {
    if (!link_.is_open()) return std::unexpected(closed());
    lost_conflict_ = false;
    if (!in_transaction_ && calls.size() == 1 && is_quick(calls[0].what)) {
        return run_prepared(calls[0]);
    }
    std::string text;
    std::size_t before = take_unsent(text);
    std::vector<sql::call*> answers;  // which call each statement belongs to
    for (sql::call& one : calls) {
        const statement_text& words = words_of(one.what);
        words.append_to(text, one.values);
        text += ';';
        answers.insert(answers.end(), words.statements(), &one);
    }
    text.pop_back();
    std::size_t at = 0;
    const auto said = link_.ask(
        text,
        [&](const statement_result& from) {
            if (before > 0) {
                --before;
            } else if (at < answers.size()) {
                read_rows(from, *answers[at++]);
            }
        },
        deadline_);
    if (!calls.empty()) told_ = calls.back().told;
    if (said) return {};
    const bool doubtful = !in_transaction_ && std::ranges::any_of(calls, changes, &sql::call::what);
    return std::unexpected(failed(said.error(), doubtful));
}

result<void> mysql_connection::run_prepared(sql::call& one) {
    const statement_text& words = words_of(one.what);
    prepared_statement& mine = prepared_[static_cast<std::size_t>(one.what)];
    if (mine == nullptr) {
        auto made = link_.prepare(words.prepared(), deadline_);
        if (!made) return std::unexpected(failed(made.error(), false));
        mine = std::move(*made);
    }
    bound_values values(words.places(), one.values);
    const auto ran = link_.execute(mine.get(), values.all(), deadline_);
    if (!ran) return std::unexpected(failed(ran.error(), true));
    read_rows(*ran, one);
    told_ = one.told;
    return {};
}

// Whoever is to be told is woken once that is committed.
result<void> mysql_connection::write(sentence what, std::span<const sql::value> values) {
    if (!link_.is_open()) return std::unexpected(closed());
    const statement_text& words = words_of(what);
    words.append_to(unsent_, values);
    unsent_ += ';';
    unsent_count_ += words.statements();
    if (what == sentence::tell_other) to_wake_.push_back({values[0].number(), values[1].number()});
    return {};
}

// The first listener is woken in the trip of the commit. Waking fails if it does not sleep, which
// is no failure of what was committed before.
result<void> mysql_connection::commit() {
    if (!link_.is_open()) return std::unexpected(closed());
    if (!begun_ && unsent_.empty()) {
        in_transaction_ = false;
        return {};
    }
    std::string text;
    std::size_t needed = take_unsent(text) + 1;
    text += "COMMIT";
    if (!to_wake_.empty()) text += ";" + waking_statements(to_wake_.front());
    const auto said =
        link_.ask(text, [&](const statement_result&) { needed -= needed > 0 ? 1 : 0; }, deadline_);
    if (!said && needed > 0) {
        error why = failed(said.error(), true);
        roll_back();
        return std::unexpected(std::move(why));
    }
    in_transaction_ = begun_ = false;
    wake_listeners();
    return {};
}

void mysql_connection::wake_listeners() {
    const auto rest = std::exchange(to_wake_, {});
    for (std::size_t i = 1; i < rest.size() && link_.is_open(); ++i) {
        static_cast<void>(
            link_.ask(waking_statements(rest[i]), [](const statement_result&) {}, deadline_));
    }
}

void mysql_connection::roll_back() noexcept {
    const bool begun = std::exchange(begun_, false);
    in_transaction_ = false;
    unsent_.clear();
    unsent_count_ = 0;
    to_wake_.clear();
    if (!link_.is_open() || !begun) return;
    if (!link_.ask("ROLLBACK", [](const statement_result&) {}, deadline_)) link_.close();
}

result<wall_time> mysql_connection::time_of_day() {
    std::int64_t micros = 0;
    const auto done = run(sentence::now, {}, [&](const sql::row& one) { micros = one.number(0); });
    if (!done) return std::unexpected(done.error());
    return wall_time(std::chrono::microseconds(micros));
}

}  // namespace holdfast::mysql
