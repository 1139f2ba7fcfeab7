// SPDX-License-Identifier: Apache-2.0
//
// Streams: adding, looking, deleting and trimming. Reading as a follower is in
// stream_read_commands.cpp, groups of consumers in stream_group_commands.cpp.
//
// Trimming with "~" removes exactly what "=" would: Redis may keep more then, in nodes of its own,
// and nobody may rely on how much.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"
#include "driver/memory/stream_words.hpp"

#include <algorithm>
#include <iterator>
#include <variant>

namespace holdfast::memory {
namespace {

struct no_trim {};
struct keep_newest {
    std::int64_t count;
};
struct keep_from {
    stream_id least;
};
using trim_rule = std::variant<no_trim, keep_newest, keep_from>;

struct add_words {
    trim_rule trim;
    bool only_existing = false;
    std::optional<parsed_stream_id> id;  ///< Nothing: "*".
    std::size_t end = 0;                 ///< Behind the id, or behind the last word.
};

class add_reader {
public:
    add_reader(const call& c, bool adds) : c_(c), adds_(adds) {}

    add_words read() {
        std::size_t i = 2;
        for (; i < c_.count(); ++i) {
            const std::size_t more = c_.count() - 1 - i;
            if (adds_ && c_.arg(i) == "*") break;
            if (c_.is(i, "maxlen") && more > 0) {
                i = trim_length(i, more);
            } else if (c_.is(i, "minid") && more > 0) {
                i = trim_id(i, more);
            } else if (c_.is(i, "limit") && more > 0) {
                limit_ = c_.integer(++i);
                if (*limit_ < 0) refuse("ERR The LIMIT argument must be >= 0.");
            } else if (adds_ && c_.is(i, "nomkstream")) {
                found_.only_existing = true;
            } else if (!adds_) {
                refuse_syntax();
            } else {
                found_.id = parse_new_stream_id(c_.arg(i));
                if (!found_.id) {
                    refuse("ERR Invalid stream ID specified as stream command argument");
                }
                break;
            }
        }
        found_.end = i + 1;
        check();
        return found_;
    }

private:
    // Where the threshold is: behind the option, and behind "~" or "=" if one is there.
    std::size_t threshold(std::size_t i, std::size_t more) {
        if (!std::holds_alternative<no_trim>(found_.trim)) {
            refuse(
                "ERR syntax error, MAXLEN and MINID options at the same time are not compatible");
        }
        about_ = more >= 2 && c_.arg(i + 1) == "~";
        return about_ || (more >= 2 && c_.arg(i + 1) == "=") ? i + 2 : i + 1;
    }
    std::size_t trim_length(std::size_t i, std::size_t more) {
        const std::size_t at = threshold(i, more);
        const std::int64_t count = c_.integer(at);
        if (count < 0) refuse("ERR The MAXLEN argument must be >= 0.");
        found_.trim = keep_newest{count};
        return at;
    }
    std::size_t trim_id(std::size_t i, std::size_t more) {
        const std::size_t at = threshold(i, more);
        found_.trim = keep_from{stream_id_word(c_, at)};
        return at;
    }
    void check() const {
        const bool trims = !std::holds_alternative<no_trim>(found_.trim);
        if (limit_.value_or(0) != 0 && !trims) {
            refuse("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy");
        }
        if (!adds_ && !trims)
            refuse("ERR syntax error, XTRIM must be called with a trimming strategy");
        if (limit_ && !about_) {
            refuse("ERR syntax error, LIMIT cannot be used without the special ~ option");
        }
    }

    const call& c_;
    const bool adds_;
    add_words found_;
    std::optional<std::int64_t> limit_;
    bool about_ = false;
};

std::size_t trim(stream& s, const trim_rule& rule) {
    if (const auto* newest = std::get_if<keep_newest>(&rule)) {
        return s.trim_to(static_cast<std::size_t>(newest->count));
    }
    if (const auto* from = std::get_if<keep_from>(&rule)) return s.trim_below(from->least);
    return 0;
}

// The id of a new entry; nothing if the wanted one is not past the last.
std::optional<stream_id> new_id(const stream& s, const std::optional<parsed_stream_id>& wanted,
                                std::int64_t now_ms) {
    if (!wanted) {
        const stream_id now{static_cast<std::uint64_t>(now_ms), 0};
        return now > s.last_id() ? now : s.last_id().next();
    }
    stream_id id = wanted->id;
    if (wanted->any_seq && id.ms == s.last_id().ms) {
        if (s.last_id().seq == UINT64_MAX) return std::nullopt;
        id.seq = s.last_id().seq + 1;
    }
    if (id <= s.last_id()) return std::nullopt;
    return id;
}

void xadd(call& c) {
    const add_words how = add_reader(c, true).read();
    const std::size_t fields = c.count() - std::min(c.count(), how.end);
    if (fields < 2 || fields % 2 == 1) refuse_arity(c.spec->name);
    if (how.id && !how.id->any_seq && how.id->id == first_stream_id) {
        refuse("ERR The ID specified in XADD must be greater than 0-0");
    }
    const auto* there = c.look<stream>(c.arg(1));
    if (there == nullptr && how.only_existing) return c.out.nil();
    if (there != nullptr && there->last_id() == last_stream_id) {
        refuse("ERR The stream has exhausted the last possible ID, unable to add more items");
    }
    auto& s = c.make<stream>(c.arg(1));
    const auto id = new_id(s, how.id, c.db.now_ms());
    if (!id) {
        refuse("ERR The ID specified in XADD is equal or smaller than the target stream top item");
    }
    const auto words = c.args.subspan(how.end);
    s.append(*id, {words.begin(), words.end()});
    trim(s, how.trim);
    c.db.modified(c.arg(1));
    c.core.key_may_be_ready(*c.db.find(c.arg(1)));
    c.out.string(to_string(*id));
}

void xtrim(call& c) {
    const add_words how = add_reader(c, false).read();
    auto* s = c.look<stream>(c.arg(1));
    if (s == nullptr) return c.out.integer(0);
    const std::size_t removed = trim(*s, how.trim);
    if (removed > 0) c.db.modified(c.arg(1));
    c.out.integer(static_cast<std::int64_t>(removed));
}

void xlen(call& c) {
    const auto* s = c.look<stream>(c.arg(1));
    c.out.integer(s == nullptr ? 0 : static_cast<std::int64_t>(s->size()));
}

void xdel(call& c) {
    auto* s = c.look<stream>(c.arg(1));
    if (s == nullptr) return c.out.integer(0);
    std::vector<stream_id> ids;
    for (std::size_t i = 2; i < c.count(); ++i) ids.push_back(stream_id_word(c, i));
    std::int64_t removed = 0;
    for (const stream_id& id : ids) removed += s->erase(id) ? 1 : 0;
    if (removed > 0) c.db.modified(c.arg(1));
    c.out.integer(removed);
}

// COUNT: nothing if it is not given; a negative one is none at all.
std::optional<std::int64_t> range_count(const call& c) {
    std::optional<std::int64_t> count;
    for (std::size_t i = 4; i < c.count(); i += 2) {
        if (!c.is(i, "count") || i + 1 == c.count()) refuse_syntax();
        count = std::max<std::int64_t>(c.integer(i + 1), 0);
    }
    return count;
}

template <bool Reverse>
void xrange(call& c) {
    const stream_id first = range_start_word(c, Reverse ? 3 : 2);
    const stream_id last = range_end_word(c, Reverse ? 2 : 3);
    const auto count = range_count(c);
    const auto* s = c.look<stream>(c.arg(1));
    if (s == nullptr) return c.out.array(0);
    if (count == 0) return c.out.nil();
    if (first > last) return c.out.array(0);
    const auto begin = s->entries().lower_bound(first);
    const auto end = s->entries().upper_bound(last);
    std::vector<stream::entry_map::const_iterator> found;
    const auto wanted = static_cast<std::size_t>(count.value_or(INT64_MAX));
    if constexpr (Reverse) {
        for (auto at = end; at != begin && found.size() < wanted;) found.push_back(--at);
    } else {
        for (auto at = begin; at != end && found.size() < wanted; ++at) found.push_back(at);
    }
    c.out.array(found.size());
    for (const auto at : found) put_stream_entry(c.out, at->first, at->second);
}

struct set_id_words {
    std::optional<std::int64_t> added;
    std::optional<stream_id> max_deleted;
};

set_id_words parse_set_id(const call& c, const stream_id& id) {
    set_id_words found;
    for (std::size_t i = 3; i < c.count(); i += 2) {
        if (i + 1 == c.count()) refuse_syntax();
        if (c.is(i, "entriesadded")) {
            found.added = c.integer(i + 1);
            if (*found.added < 0) refuse("ERR entries_added must be positive");
        } else if (c.is(i, "maxdeletedid")) {
            found.max_deleted = stream_id_word(c, i + 1);
            if (id < *found.max_deleted) {
                refuse(
                    "ERR The ID specified in XSETID is smaller than the provided "
                    "max_deleted_entry_id");
            }
        } else {
            refuse_syntax();
        }
    }
    return found;
}

void xsetid(call& c) {
    const stream_id id = stream_id_word(c, 2);
    const set_id_words more = parse_set_id(c, id);
    auto* s = c.look<stream>(c.arg(1));
    if (s == nullptr) refuse("ERR no such key");
    if (s->size() > 0) {
        if (id < std::prev(s->entries().end())->first) {
            refuse("ERR The ID specified in XSETID is smaller than the target stream top item");
        }
        if (more.added && *more.added < static_cast<std::int64_t>(s->size())) {
            refuse(
                "ERR The entries_added specified in XSETID is smaller than the target stream "
                "length");
        }
    }
    if (id < s->max_deleted_id()) {
        refuse("ERR The ID specified in XSETID is smaller than current max_deleted_entry_id");
    }
    s->set_last(id);
    if (more.added) s->set_added(static_cast<std::uint64_t>(*more.added));
    if (more.max_deleted && *more.max_deleted != first_stream_id) {
        s->set_max_deleted(*more.max_deleted);
    }
    c.db.modified(c.arg(1));
    c.out.ok();
}

constexpr command_spec stream_table[] = {
    {"xadd", -5, writes | grows | fast_path, xadd},
    {"xlen", 2, reads | fast_path, xlen},
    {"xrange", -4, reads, xrange<false>},
    {"xrevrange", -4, reads, xrange<true>},
    {"xdel", -3, writes | fast_path, xdel},
    {"xtrim", -4, writes, xtrim},
    {"xsetid", -3, writes | grows | fast_path, xsetid},
};

}  // namespace

std::span<const command_spec> stream_commands() {
    return stream_table;
}

}  // namespace holdfast::memory
