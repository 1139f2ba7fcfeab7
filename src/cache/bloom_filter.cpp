// SPDX-License-Identifier: Apache-2.0
#include <holdfast/bloom_filter.hpp>

#include "cache/cache_scripts.hpp"
#include "command/script_call.hpp"
#include "core/validity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace holdfast {
namespace {

constexpr int most_filters = 8;
constexpr std::uint32_t plain_bits = 1'000'000;
constexpr std::uint64_t most_bits = std::uint64_t{1} << 32U;

struct one_filter {
    std::uint64_t capacity;
    std::uint64_t bits;
    int hashes;
};

// The errors of all filters of the chain together are below the error rate: 1/2 + 1/4 + …
std::vector<one_filter> chain_of(const bloom_options& options) {
    std::vector<one_filter> chain;
    std::uint64_t sum = 0;
    for (int i = 0; i < most_filters; ++i) {
        const std::uint64_t capacity = options.capacity << static_cast<unsigned>(i);
        const double rate = options.error_rate / std::exp2(i + 1);
        const double ln2 = std::log(2.0);
        const auto bits = static_cast<std::uint64_t>(
            std::ceil(-static_cast<double>(capacity) * std::log(rate) / (ln2 * ln2)));
        const int hashes = std::max(1, static_cast<int>(std::lround(-std::log2(rate))));
        if (sum + bits > most_bits) break;
        sum += bits;
        chain.push_back({capacity, std::max<std::uint64_t>(bits, 8), hashes});
    }
    return chain;
}

// FNV-1a of 64 bits with a finisher: the two halves are the two hashes.
std::pair<std::uint32_t, std::uint32_t> hashes_of(std::string_view item) {
    std::uint64_t h = 14695981039346656037ULL;
    for (const char c : item) {
        h ^= static_cast<unsigned char>(c);
        h *= 1099511628211ULL;
    }
    h ^= h >> 33U;
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 33U;
    h *= 0xc4ceb9fe1a85ec53ULL;
    h ^= h >> 33U;
    // The step is odd, so that it visits different bits.
    return {static_cast<std::uint32_t>(h), static_cast<std::uint32_t>(h >> 32U) | 1U};
}

result<reply> read_bloom_answer(result<reply> seen, std::string_view key) {
    if (seen && seen->is_error() && seen->text().starts_with("SHAPE")) {
        return fail(errc::invalid_argument, fmt::format("'{}' was made with other options: {}", key,
                                                        seen->text().substr(6)));
    }
    return detail::answer_of(std::move(seen), key);
}

}  // namespace

namespace detail {

two_positions two_hashes_of(std::string_view item) noexcept {
    std::uint32_t fnv = 2166136261U;
    std::uint32_t by31 = 0;
    for (const char c : item) {
        fnv = (fnv ^ static_cast<unsigned char>(c)) * 16777619U;
        by31 = by31 * 31U + static_cast<unsigned char>(c);
    }
    return {fnv % plain_bits, by31 % plain_bits};
}

}  // namespace detail

bloom_filter::bloom_filter(command_access where, std::string_view name, bloom_options options)
    : where_(std::move(where)), name_(name), options_(std::move(options)) {}

result<void> bloom_filter::ready() const {
    if (options_.capacity < 1 || options_.capacity > 100'000'000) {
        return fail(errc::invalid_argument,
                    fmt::format("capacity is {}: give it 1 to 100,000,000", options_.capacity));
    }
    if (!(options_.error_rate >= 0.000001 && options_.error_rate <= 0.5)) {
        return fail(errc::invalid_argument,
                    fmt::format("error_rate is {}: give it 0.000001 to 0.5", options_.error_rate));
    }
    if (options_.bits == bloom_bits::two_hashes) {
        if (auto fit = detail::check_plain_key(options_.prefix, name_); !fit) return fit;
    } else if (chain_of(options_).empty()) {
        return fail(errc::invalid_argument,
                    "capacity and error_rate together need more than 2^32 bits");
    }
    return detail::first_failure(
        {detail::check_place(where_), detail::check_span("life", options_.life),
         detail::check_prefix(options_.prefix), detail::check_timeout(options_.timeout),
         detail::check_key(name_)});
}

bloom_filter::keys bloom_filter::keys_of(side which) const {
    const bool next = which == side::next;
    if (options_.bits == bloom_bits::two_hashes) {
        return {
            {},
            std::string(detail::plain_key(options_.prefix, name_).view()) + (next ? ":next" : "")};
    }
    using detail::kept::bloom;
    return {
        std::string(
            detail::kept_key(options_.prefix, name_, bloom, next ? "next_about" : "").view()),
        std::string(
            detail::kept_key(options_.prefix, name_, bloom, next ? "next_bits" : "bits").view())};
}

result<std::vector<bool>> bloom_filter::ask_sized(std::span<const std::string_view> items,
                                                  const char* what, side which) {
    const auto chain = chain_of(options_);
    std::vector<std::string> texts{
        what, fmt::format("{}:{}", options_.capacity, options_.error_rate),
        std::to_string(detail::to_ms(options_.life)), std::to_string(chain.size())};
    for (const auto& [capacity, bits, hashes] : chain) {
        texts.push_back(std::to_string(capacity));
        texts.push_back(std::to_string(bits));
        texts.push_back(std::to_string(hashes));
    }
    for (const auto item : items) {
        const auto [h1, h2] = hashes_of(item);
        texts.push_back(std::to_string(h1));
        texts.push_back(std::to_string(h2));
    }
    const keys at = keys_of(which);
    std::vector<std::string_view> list{"EVALSHA", detail::cache_scripts::all().bloom.sha1(), "2",
                                       at.meta, at.bits};
    list.insert(list.end(), texts.begin(), texts.end());
    const command c{list, repeat::idempotent, &detail::cache_scripts::all().bloom};
    result<reply> answered;
    where_.engine()->exchange({&c, 1}, {&answered, 1},
                              later(where_.engine()->time().now(), options_.timeout));
    const auto seen = read_bloom_answer(std::move(answered), at.meta);
    if (!seen) return std::unexpected(seen.error());
    std::vector<bool> out;
    for (const auto& one : seen->elements()) out.push_back(one.number() == 1);
    return out;
}

result<std::vector<bool>> bloom_filter::ask_plain(std::span<const std::string_view> items,
                                                  const char* what, side which) {
    const std::string key = keys_of(which).bits;
    const bool adds = std::string_view(what) == "SETBIT";
    std::vector<std::string> places;
    for (const auto item : items) {
        const auto [first, second] = detail::two_hashes_of(item);
        places.push_back(std::to_string(first));
        places.push_back(std::to_string(second));
    }
    std::vector<std::vector<std::string_view>> lists;
    for (const auto& place : places) {
        lists.push_back({what, key, place});
        if (adds) lists.back().emplace_back("1");
    }
    const std::string life = std::to_string(detail::to_ms(options_.life));
    if (adds) lists.push_back({"PEXPIRE", key, life});
    std::vector<command> commands;
    for (const auto& list : lists) commands.push_back({list, repeat::idempotent});
    std::vector<result<reply>> replies(commands.size());
    where_.engine()->exchange(commands, replies,
                              later(where_.engine()->time().now(), options_.timeout));
    std::vector<bool> out;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const auto one = detail::answer_of(std::move(replies[2 * i]), key);
        if (!one) return std::unexpected(one.error());
        const auto two = detail::answer_of(std::move(replies[2 * i + 1]), key);
        if (!two) return std::unexpected(two.error());
        const bool both = one->number() == 1 && two->number() == 1;
        out.push_back(both != adds);
    }
    return out;
}

result<std::vector<bool>> bloom_filter::add_to(std::span<const std::string_view> items,
                                               side which) {
    if (auto fit = ready(); !fit) return std::unexpected(std::move(fit.error()));
    if (items.size() > max_batch) {
        return fail(errc::invalid_argument,
                    fmt::format("{} items at once: at most {} are taken", items.size(), max_batch));
    }
    if (items.empty()) return std::vector<bool>();
    if (options_.bits == bloom_bits::two_hashes) return ask_plain(items, "SETBIT", which);
    return ask_sized(items, "add", which);
}

result<std::vector<bool>> bloom_filter::add(std::span<const std::string_view> items) {
    return add_to(items, side::current);
}

result<std::vector<bool>> bloom_filter::contains(std::span<const std::string_view> items) {
    if (auto fit = ready(); !fit) return std::unexpected(std::move(fit.error()));
    if (items.size() > max_batch) {
        return fail(errc::invalid_argument,
                    fmt::format("{} items at once: at most {} are taken", items.size(), max_batch));
    }
    if (items.empty()) return std::vector<bool>();
    if (options_.bits == bloom_bits::two_hashes) return ask_plain(items, "GETBIT", side::current);
    return ask_sized(items, "has", side::current);
}

result<bool> bloom_filter::add(std::string_view item) {
    const auto all = add(std::span(&item, 1));
    if (!all) return std::unexpected(all.error());
    return all->front();
}

result<bool> bloom_filter::contains(std::string_view item) {
    const auto all = contains(std::span(&item, 1));
    if (!all) return std::unexpected(all.error());
    return all->front();
}

result<void> bloom_filter::rebuild(const std::function<result<void>(const adder&)>& feed) {
    if (auto fit = ready(); !fit) return fit;
    const keys now = keys_of(side::current);
    const keys next = keys_of(side::next);
    command_engine& engine = *where_.engine();
    const auto soon = [&] { return later(engine.time().now(), options_.timeout); };
    const bool plain = options_.bits == bloom_bits::two_hashes;
    const auto old_meta = plain ? now.bits : now.meta;
    const auto new_meta = plain ? next.bits : next.meta;
    const auto drop = words("DEL", next.bits, new_meta);
    if (auto gone = engine.execute(drop.idempotent(), soon()); !gone) {
        return std::unexpected(std::move(gone.error()));
    }
    const auto fed = feed([&](std::span<const std::string_view> items) -> result<void> {
        for (std::size_t at = 0; at < items.size(); at += max_batch) {
            const auto part = items.subspan(at, std::min(max_batch, items.size() - at));
            if (auto done = add_to(part, side::next); !done) {
                return std::unexpected(std::move(done.error()));
            }
        }
        return {};
    });
    if (!fed) return fed;
    if (plain) {
        auto done = engine.execute(words("RENAME", next.bits, now.bits), soon());
        if (!done) return std::unexpected(std::move(done.error()));
        return {};
    }
    detail::script_call q(detail::cache_scripts::all().bloom_swap, 4, repeat::never);
    q.word(old_meta);
    q.word(now.bits);
    q.word(new_meta);
    q.word(next.bits);
    const auto done = detail::ask(where_, q.as_command(), now.bits, options_.timeout);
    if (!done) return std::unexpected(done.error());
    return {};
}

result<bloom_info> bloom_filter::info() {
    if (auto fit = ready(); !fit) return std::unexpected(std::move(fit.error()));
    const keys at = keys_of(side::current);
    command_engine& engine = *where_.engine();
    const time_point soon = later(engine.time().now(), options_.timeout);
    const auto size = engine.execute(words("STRLEN", at.bits).idempotent(), soon);
    if (!size) return std::unexpected(size.error());
    bloom_info seen{.items = 0, .filters = 1, .bytes = static_cast<std::uint64_t>(size->number())};
    if (options_.bits == bloom_bits::two_hashes) return seen;
    const auto about =
        engine.execute(words("HMGET", at.meta, "filters", "total").idempotent(), soon);
    if (!about) return std::unexpected(about.error());
    const auto read = [](const reply& r) {
        std::uint64_t n = 0;
        std::from_chars(r.text().data(), r.text().data() + r.text().size(), n);
        return n;
    };
    seen.filters = std::max(1, static_cast<int>(read(about->elements().at(0))));
    seen.items = read(about->elements().at(1));
    return seen;
}

result<void> bloom_filter::clear() {
    if (auto fit = ready(); !fit) return fit;
    const keys at = keys_of(side::current);
    const bool plain = options_.bits == bloom_bits::two_hashes;
    const auto drop = words("DEL", at.bits, plain ? at.bits : at.meta);
    const auto gone = detail::ask(where_, drop.idempotent(), at.bits, options_.timeout);
    if (!gone) return std::unexpected(gone.error());
    return {};
}

}  // namespace holdfast
