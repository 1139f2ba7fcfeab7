// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/key_image.hpp"

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

/// Reads from the front; fails for good at the first thing that is not there.
class reader {
public:
    explicit reader(std::string_view from) : left_(from) {}

    [[nodiscard]] bool failed() const noexcept { return failed_; }
    [[nodiscard]] bool more() const noexcept { return !failed_ && !left_.empty(); }

    std::string_view text() {
        const std::uint64_t size = number();
        if (size > left_.size()) failed_ = true;
        if (failed_) return {};
        const std::string_view found = left_.substr(0, size);
        left_.remove_prefix(size);
        return found;
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
    std::uint64_t number() {
        std::uint64_t found = 0;
        for (unsigned shift = 0; shift < 63 && !left_.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(left_.front());
            left_.remove_prefix(1);
            found |= std::uint64_t{byte & 0x7FU} << shift;
            if ((byte & 0x80U) == 0) return found;
        }
        failed_ = true;
        return 0;
    }

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
        default: return std::nullopt;
    }
}

}  // namespace holdfast::memory
