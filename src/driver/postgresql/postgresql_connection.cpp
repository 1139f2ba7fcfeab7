// SPDX-License-Identifier: Apache-2.0
#include "driver/postgresql/postgresql_connection.hpp"

#include "driver/postgresql/postgresql_dialect.hpp"
#include "driver/postgresql/postgresql_schema.hpp"

#include <fmt/format.h>

#include <endian.h>
#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace holdfast::postgresql {
namespace {

using sql::sentence;

// PostgreSQL's own numbers of its types.
constexpr Oid type_bigint = 20;
constexpr Oid type_text = 25;
constexpr int binary = 1;
constexpr std::size_t most_values = 16;

std::string name_of(sentence what) {
    return fmt::format("holdfast_{}", static_cast<int>(what));
}

// What changes something when it runs by itself.
bool changes(sentence what) {
    switch (what) {
        case sentence::take:
        case sentence::take_gate:
        case sentence::extend:
        case sentence::release_free: return true;
        default: return static_cast<std::size_t>(what) >= sql::sentence_count;
    }
}

class result_row final : public sql::row {
public:
    result_row(const pg_result* of, int at) : of_(of), at_(at) {}
    [[nodiscard]] bool is_null(int column) const override {
        return ::PQgetisnull(of_, at_, column) != 0;
    }
    [[nodiscard]] std::int64_t number(int column) const override {
        const std::string_view digits = text(column);
        std::int64_t value = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return value;
    }
    [[nodiscard]] std::string_view text(int column) const override {
        return {::PQgetvalue(of_, at_, column),
                static_cast<std::size_t>(::PQgetlength(of_, at_, column))};
    }

private:
    const pg_result* of_;
    int at_;
};

/// Values as libpq takes them: numbers as eight bytes, the highest first; texts as they are.
class bound_values {
public:
    explicit bound_values(std::span<const sql::value> values) {
        for (const sql::value& one : values) {
            if (one.is_text()) {
                static constexpr char empty = 0;
                at_[count_] = one.text().empty() ? &empty : one.text().data();
                sizes_[count_] = static_cast<int>(one.text().size());
                types_[count_] = type_text;
            } else {
                numbers_[count_] = htobe64(static_cast<std::uint64_t>(one.number()));
                at_[count_] = reinterpret_cast<const char*>(&numbers_[count_]);
                sizes_[count_] = sizeof numbers_[count_];
                types_[count_] = type_bigint;
            }
            formats_[count_] = binary;
            ++count_;
        }
    }
    [[nodiscard]] int count() const noexcept { return static_cast<int>(count_); }
    [[nodiscard]] const char* const* at() const noexcept { return at_.data(); }
    [[nodiscard]] const int* sizes() const noexcept { return sizes_.data(); }
    [[nodiscard]] const int* formats() const noexcept { return formats_.data(); }
    [[nodiscard]] const Oid* types() const noexcept { return types_.data(); }

private:
    std::array<std::uint64_t, most_values> numbers_;
    std::array<const char*, most_values> at_;
    std::array<int, most_values> sizes_;
    std::array<int, most_values> formats_;
    std::array<Oid, most_values> types_;
    std::size_t count_ = 0;
};

}  // namespace

postgresql_connection::postgresql_connection(const postgresql_options& options, clock& time,
                                             std::span<const std::string> further)
    : options_(options),
      clock_(time),
      link_(options),
      texts_(sql::statements_and(postgresql_dialect(), further)),
      prepared_(texts_.size()) {}

result<void> postgresql_connection::ready(time_point give_up) {
    const duration left = give_up - clock_.now();
    if (left <= duration::zero()) {
        return fail(errc::unavailable, fmt::format("{}: no time was left", link_.label()));
    }
    deadline_ = system_clock().now() + left;
    lost_conflict_ = in_transaction_ = begun_ = false;
    sent_.clear();
    if (link_.is_open() && !link_.is_quiet()) link_.close();
    if (link_.is_open()) return {};
    prepared_.assign(texts_.size(), false);
    if (auto opened = link_.open(deadline_); !opened) return opened;
    auto fit = check_tables(link_, options_, deadline_);
    if (fit && texts_.size() == sql::sentence_count) fit = plan_for_keys();
    if (!fit) {
        link_.close();
        return fit;
    }
    ::PQenterPipelineMode(link_.get());
    return {};
}

// Every statement of the leases finds its rows by their key. A table with few rows and many old
// versions of them makes the planner build a bitmap of one row, which costs a few percent more.
// What is ruled out so counts as dear, and a dear statement may be compiled each time: so no jit.
result<void> postgresql_connection::plan_for_keys() {
    const auto said = link_.ask(
        "SET jit = off; SET enable_bitmapscan = off; SET enable_seqscan = off; "
        "SET plan_cache_mode = force_generic_plan",
        deadline_);
    return said ? result<void>() : std::unexpected(refused(said.error(), link_.label()));
}

error postgresql_connection::closed() const {
    return {errc::unavailable,
            fmt::format("{}: the connection was lost; it is made again", link_.label())};
}

// A connection that was lost may have lost the answer alone, whatever the server said at its end.
error postgresql_connection::failed(const complaint& said, bool doubtful) {
    if (doubtful && !link_.is_open()) {
        return {errc::outcome_unknown,
                fmt::format("{}: the connection was lost while the server worked: it may have been "
                            "carried out ({})",
                            link_.label(), one_line(said.words))};
    }
    if (said.state.empty()) {
        return {errc::unavailable, fmt::format("{}: the connection was lost; nothing was done ({})",
                                               link_.label(), one_line(said.words))};
    }
    lost_conflict_ = is_conflict(said.state);
    // Tables that are gone are made again, or found again, by the next connection.
    if (said.state == "42P01" || said.state == "26000") link_.close();
    return refused(said, link_.label());
}

result<void> postgresql_connection::begin() {
    if (!link_.is_open()) return std::unexpected(closed());
    in_transaction_ = true;
    begun_ = lost_conflict_ = false;
    return {};
}

bool postgresql_connection::send_plain(const char* text) {
    sent_.push_back({});
    return ::PQsendQueryParams(link_.get(), text, 0, nullptr, nullptr, nullptr, nullptr, 0) != 0;
}

bool postgresql_connection::send_begin() {
    if (!in_transaction_ || begun_) return true;
    begun_ = true;
    return send_plain("BEGIN");
}

bool postgresql_connection::prepare(sentence what, std::span<const sql::value> values) {
    const auto at = static_cast<std::size_t>(what);
    const bool on_its_way =
        std::ranges::any_of(sent_, [&](const sent& one) { return one.prepares == what; });
    if (prepared_[at] || on_its_way) return true;
    const bound_values bound(values);
    sent_.push_back({.prepares = what});
    return ::PQsendPrepare(link_.get(), name_of(what).c_str(), texts_[at].c_str(), bound.count(),
                           bound.types()) != 0;
}

bool postgresql_connection::send(sentence what, std::span<const sql::value> values,
                                 sql::call* asks) {
    if (!send_begin() || !prepare(what, values)) return false;
    const bound_values bound(values);
    sent_.push_back({.asks = asks});
    return ::PQsendQueryPrepared(link_.get(), name_of(what).c_str(), bound.count(), bound.at(),
                                 bound.sizes(), bound.formats(), 0) != 0;
}

result<std::int64_t> postgresql_connection::run(sentence what, std::span<const sql::value> values,
                                                const sql::row_reader& reader) {
    sql::call one{.what = what, .values = values, .reader = &reader};
    if (auto done = run_all({&one, 1}); !done) return std::unexpected(std::move(done.error()));
    return one.rows;
}

result<void> postgresql_connection::run_all(std::span<sql::call> calls) {
    if (!link_.is_open()) return std::unexpected(closed());
    lost_conflict_ = false;
    bool doubtful = false;
    for (sql::call& one : calls) {
        doubtful = doubtful || (!in_transaction_ && changes(one.what));
        if (send(one.what, one.values, &one)) continue;
        const complaint said{{}, ::PQerrorMessage(link_.get())};
        link_.close();
        return std::unexpected(failed(said, false));
    }
    return collect(doubtful);
}

result<void> postgresql_connection::write(sentence what, std::span<const sql::value> values) {
    if (!link_.is_open()) return std::unexpected(closed());
    if (send(what, values, nullptr)) return {};
    const complaint said{{}, ::PQerrorMessage(link_.get())};
    link_.close();
    return std::unexpected(failed(said, false));
}

result<void> postgresql_connection::collect(bool doubtful) {
    std::optional<complaint> said;
    if (::PQpipelineSync(link_.get()) == 0) {
        said = complaint{{}, ::PQerrorMessage(link_.get())};
        link_.close();
    } else {
        said = read_answers();
    }
    sent_.clear();
    if (!said) return {};
    return std::unexpected(failed(*said, doubtful));
}

// The first that failed; those behind it up to the end of the batch did not run.
std::optional<complaint> postgresql_connection::read_answers() {
    std::optional<complaint> first;
    std::size_t at = 0;
    while (true) {
        auto one = link_.next(deadline_);
        if (!one) return first ? std::move(first) : std::move(one.error());
        if (*one == nullptr) {  // the end of one statement's answers
            ++at;
            continue;
        }
        const pg_result* const answer = one->get();
        switch (::PQresultStatus(answer)) {
            case PGRES_PIPELINE_SYNC: return first;
            case PGRES_PIPELINE_ABORTED: break;
            case PGRES_TUPLES_OK:
            case PGRES_COMMAND_OK:
                if (at >= sent_.size()) break;
                if (sent_[at].prepares)
                    prepared_[static_cast<std::size_t>(*sent_[at].prepares)] = true;
                if (sent_[at].asks != nullptr) read_rows(answer, *sent_[at].asks);
                break;
            default:
                if (!first) first = complaint_of(answer);
                if (first->state.empty()) first->state = "XX000";
        }
    }
}

void postgresql_connection::read_rows(const pg_result* from, sql::call& into) {
    const int rows = ::PQntuples(from);
    for (int i = 0; i < rows; ++i) {
        const result_row one(from, i);
        if (into.reader != nullptr) (*into.reader)(one);
    }
    const std::string_view changed = ::PQcmdTuples(const_cast<pg_result*>(from));
    into.rows = 0;
    std::from_chars(changed.data(), changed.data() + changed.size(), into.rows);
    if (rows > 0) into.told = told_ = result_row(from, 0).number(0);
}

// A transaction that failed is rolled back by COMMIT, which says so.
result<void> postgresql_connection::commit() {
    if (!link_.is_open()) return std::unexpected(closed());
    const bool begun = begun_;
    if (begun && !send_plain("COMMIT")) {
        const complaint said{{}, ::PQerrorMessage(link_.get())};
        link_.close();
        return std::unexpected(failed(said, false));
    }
    auto done = begun ? collect(true) : result<void>();
    if (!done && link_.is_open()) {
        roll_back();
        return done;
    }
    in_transaction_ = begun_ = false;
    return done;
}

void postgresql_connection::roll_back() noexcept {
    const bool begun = std::exchange(begun_, false);
    const bool conflict = lost_conflict_;
    in_transaction_ = false;
    if (!link_.is_open() || !begun) return;
    if (!sent_.empty()) static_cast<void>(collect(false));
    if (link_.is_open() && send_plain("ROLLBACK")) static_cast<void>(collect(false));
    lost_conflict_ = conflict;
}

result<wall_time> postgresql_connection::time_of_day() {
    std::int64_t micros = 0;
    const auto done = run(sentence::now, {}, [&](const sql::row& one) { micros = one.number(0); });
    if (!done) return std::unexpected(done.error());
    return wall_time(std::chrono::microseconds(micros));
}

}  // namespace holdfast::postgresql
