// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/key_image.hpp"

#include "core/overloaded.hpp"

#include <bit>
#include <cmath>
#include <utility>

namespace holdfast::memory {
namespace {

void put_number(std::string& to, std::uint64_t number) {
    for (; number >= 0x80U; number >>= 7U) to += static_cast<char>((number & 0x7FU) | 0x80U);
    to += static_cast<char>(number);
}

void put_text(std::string& to, std::string_view text) {
    put_number(to, text.size());
    to += text;
}

void put_score(std::string& to, double score) {
    const auto bits = std::bit_cast<std::uint64_t>(score);
    for (unsigned shift = 0; shift < 64; shift += 8)
        to += static_cast<char>((bits >> shift) & 0xFFU);
}

void put_id(std::string& to, const stream_id& id) {
    put_number(to, id.ms);
    put_number(to, id.seq);
}

void put_group(std::string& to, const stream::group& g) {
    put_id(to, g.last);
    put_number(to, g.entries_read ? static_cast<std::uint64_t>(*g.entries_read) + 1 : 0);
    put_number(to, g.consumers.size());
    for (const auto& [name, one] : g.consumers) {
        put_text(to, name);
        put_number(to, static_cast<std::uint64_t>(one.seen_ms));
    }
    put_number(to, g.pending.size());
    for (const auto& [id, one] : g.pending) {
        put_id(to, id);
        put_text(to, one.consumer);
        put_number(to, static_cast<std::uint64_t>(one.delivered_ms));
        put_number(to, static_cast<std::uint64_t>(one.deliveries));
    }
}

void put_stream(std::string& to, const stream& s) {
    put_id(to, s.last_id());
    put_id(to, s.max_deleted_id());
    put_number(to, s.entries_added());
    put_number(to, s.size());
    for (const auto& [id, what] : s.entries()) {
        put_id(to, id);
        put_number(to, what.size());
        for (const std::string& text : what) put_text(to, text);
    }
    put_number(to, s.groups().size());
    for (const auto& [name, g] : s.groups()) {
        put_text(to, name);
        put_group(to, g);
    }
}

/// Reads from the front; fails for good at the first thing that is not there.
class reader {
public:
    explicit reader(std::string_view from) : left_(from) {}

    [[nodiscard]] bool failed() const noexcept { return failed_; }
    void fail() noexcept { failed_ = true; }
    [[nodiscard]] bool more() const noexcept { return !failed_ && !left_.empty(); }

    std::string_view text() {
        const std::uint64_t size = number();
        if (size > left_.size()) failed_ = true;
        if (failed_) return {};
        const std::string_view found = left_.substr(0, size);
        left_.remove_prefix(size);
        return found;
    }
    std::uint64_t number() {
        std::uint64_t found = 0;
        for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(left_.front());
            left_.remove_prefix(1);
            found |= std::uint64_t{byte & 0x7FU} << shift;
            if ((byte & 0x80U) == 0) return found;
        }
        failed_ = true;
        return 0;
    }
    double score() {
        if (left_.size() < 8) failed_ = true;
        if (failed_) return 0;
        std::uint64_t bits = 0;
        for (unsigned i = 0; i < 8; ++i) {
            bits |= std::uint64_t{static_cast<unsigned char>(left_[i])} << (8 * i);
        }
        left_.remove_prefix(8);
        const auto found = std::bit_cast<double>(bits);
        if (std::isnan(found)) failed_ = true;
        return found;
    }

private:
    std::string_view left_;
    bool failed_ = false;
};

// Each answers an empty value where the bytes are wrong; none that is stored is empty.

std::unique_ptr<hash_value> read_hash(reader& from, std::uint64_t seed) {
    auto made = std::make_unique<hash_value>(seed);
    while (from.more()) {
        const std::string_view field = from.text();
        const std::string_view text = from.text();
        if (from.failed() || made->find(field) != nullptr)
            return std::make_unique<hash_value>(seed);
        made->insert(field, std::string(text));
    }
    return made;
}

std::unique_ptr<list_value> read_list(reader& from) {
    auto made = std::make_unique<list_value>();
    while (from.more()) made->emplace_back(from.text());
    return made;
}

std::unique_ptr<set_value> read_set(reader& from, std::uint64_t seed) {
    auto made = std::make_unique<set_value>(seed);
    while (from.more()) made->find_or_insert(from.text());
    return made;
}

std::unique_ptr<sorted_set> read_sorted_set(reader& from, std::uint64_t seed) {
    auto made = std::make_unique<sorted_set>(seed);
    while (from.more()) {
        const std::string_view member = from.text();
        const double score = from.score();
        if (from.failed() || made->find(member) != nullptr)
            return std::make_unique<sorted_set>(seed);
        made->insert(member, score);
    }
    return made;
}

stream_id read_id(reader& from) {
    const std::uint64_t ms = from.number();
    return {ms, from.number()};
}

// Requires: !from.failed() after it, or what it made is thrown away.
void read_entries(reader& from, stream& to) {
    for (std::uint64_t left = from.number(); left > 0 && !from.failed(); --left) {
        const stream_id id = read_id(from);
        stream::fields what;
        for (std::uint64_t texts = from.number(); texts > 0 && !from.failed(); --texts) {
            what.emplace_back(from.text());
        }
        if (id <= to.last_id() || what.empty() || what.size() % 2 != 0) return from.fail();
        to.append(id, std::move(what));
    }
}

void read_group(reader& from, stream::group& to) {
    to.last = read_id(from);
    const std::uint64_t read = from.number();
    if (read > 0) to.entries_read = static_cast<std::int64_t>(read - 1);
    for (std::uint64_t left = from.number(); left > 0 && !from.failed(); --left) {
        const std::string_view name = from.text();
        to.join(name, static_cast<std::int64_t>(from.number()));
    }
    for (std::uint64_t left = from.number(); left > 0 && !from.failed(); --left) {
        const stream_id id = read_id(from);
        const std::string_view consumer = from.text();
        const auto when = static_cast<std::int64_t>(from.number());
        const auto times = static_cast<std::int64_t>(from.number());
        if (!to.consumers.contains(consumer) || to.pending.contains(id)) return from.fail();
        to.deliver(id, consumer, when);
        to.pending.at(id).deliveries = times;
    }
}

std::unique_ptr<stream> read_stream(reader& from) {
    auto made = std::make_unique<stream>();
    const stream_id last = read_id(from);
    made->set_max_deleted(read_id(from));
    const std::uint64_t added = from.number();
    read_entries(from, *made);
    if (made->last_id() > last) from.fail();
    made->set_last(last);
    made->set_added(added);
    for (std::uint64_t left = from.number(); left > 0 && !from.failed(); --left) {
        const auto [place, fresh] = made->groups().try_emplace(std::string(from.text()));
        if (!fresh) from.fail();
        read_group(from, place->second);
    }
    if (from.more()) from.fail();
    return made;
}

template <class Container>
std::optional<value> whole(const reader& from, std::unique_ptr<Container> made) {
    if (from.failed() || made->size() == 0) return std::nullopt;
    return value(std::move(made));
}

}  // namespace

std::string to_bytes(const value& v) {
    std::string bytes;
    std::visit(detail::overloaded{
                   [&](const std::string& text) {
                       bytes += 's';
                       put_text(bytes, text);
                   },
                   [&](const std::unique_ptr<hash_value>& hash) {
                       bytes += 'h';
                       for (const auto* n = hash->first(); n != nullptr; n = n->after) {
                           put_text(bytes, n->key);
                           put_text(bytes, n->value);
                       }
                   },
                   [&](const std::unique_ptr<list_value>& list) {
                       bytes += 'l';
                       for (const std::string& text : *list) put_text(bytes, text);
                   },
                   [&](const std::unique_ptr<set_value>& set) {
                       bytes += 't';
                       for (const auto* n = set->first(); n != nullptr; n = n->after)
                           put_text(bytes, n->key);
                   },
                   [&](const std::unique_ptr<sorted_set>& set) {
                       bytes += 'z';
                       for (const auto* n = set->by_member().first(); n != nullptr; n = n->after) {
                           put_text(bytes, n->key);
                           put_score(bytes, n->value);
                       }
                   },
                   [&](const std::unique_ptr<stream>& held) {
                       bytes += 'x';
                       put_stream(bytes, *held);
                   },
               },
               v);
    return bytes;
}

std::optional<value> from_bytes(std::string_view bytes, std::uint64_t seed) {
    if (bytes.empty()) return std::nullopt;
    reader from(bytes.substr(1));
    switch (bytes.front()) {
        case 's': {
            const std::string_view text = from.text();
            if (from.failed() || from.more()) return std::nullopt;
            return value(std::string(text));
        }
        case 'h': {
            auto made = read_hash(from, seed);
            return whole(from, std::move(made));
        }
        case 'l': {
            auto made = read_list(from);
            return whole(from, std::move(made));
        }
        case 't': {
            auto made = read_set(from, seed);
            return whole(from, std::move(made));
        }
        case 'z': {
            auto made = read_sorted_set(from, seed);
            return whole(from, std::move(made));
        }
        case 'x': {
            auto made = read_stream(from);
            if (from.failed()) return std::nullopt;
            return value(std::move(made));
        }
        default: return std::nullopt;
    }
}

}  // namespace holdfast::memory
