// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/memory_image.hpp"

#include "driver/memory/keyspace.hpp"

#include <memory>

namespace holdfast::memory {
namespace {

struct copy_out {
    using copied = decltype(memory_image::entry::value);

    copied operator()(const std::string& text) const { return text; }
    copied operator()(const std::unique_ptr<hash_value>& from) const {
        memory_image::hash out;
        for (auto* n = from->first(); n != nullptr; n = n->after)
            out.emplace_back(n->key, n->value);
        return out;
    }
    copied operator()(const std::unique_ptr<list_value>& from) const {
        return memory_image::list{{from->begin(), from->end()}};
    }
    copied operator()(const std::unique_ptr<set_value>& from) const {
        memory_image::set out;
        for (auto* n = from->first(); n != nullptr; n = n->after) out.members.push_back(n->key);
        return out;
    }
    copied operator()(const std::unique_ptr<sorted_set>& from) const {
        memory_image::sorted out;
        const auto& members = from->by_member();
        for (auto* n = members.first(); n != nullptr; n = n->after) {
            out.emplace_back(n->key, n->value);
        }
        return out;
    }
    copied operator()(const std::unique_ptr<stream>& from) const { return *from; }
};

struct copy_in {
    std::uint64_t seed;

    value operator()(const std::string& text) const { return text; }
    value operator()(const memory_image::hash& from) const {
        auto made = std::make_unique<hash_value>(seed);
        for (const auto& [field, text] : from) made->insert(field, text);
        return made;
    }
    value operator()(const memory_image::list& from) const {
        return std::make_unique<list_value>(from.elements.begin(), from.elements.end());
    }
    value operator()(const memory_image::set& from) const {
        auto made = std::make_unique<set_value>(seed);
        for (const auto& member : from.members) made->insert(member, no_value{});
        return made;
    }
    value operator()(const memory_image::sorted& from) const {
        auto made = std::make_unique<sorted_set>(seed);
        for (const auto& [member, score] : from) made->insert(member, score);
        return made;
    }
    value operator()(const stream& from) const { return std::make_unique<stream>(from); }
};

}  // namespace

memory_image image_of(const keyspace& db) {
    memory_image image;
    image.entries.reserve(db.size());
    for (auto* n = db.keys().first(); n != nullptr; n = n->after) {
        image.entries.push_back(
            {n->key, n->value.expires_ms, std::visit(copy_out{}, n->value.data)});
    }
    return image;
}

void load_image(keyspace& db, const memory_image& image) {
    db.clear();
    for (const auto& one : image.entries) {
        key_node& made = db.insert(one.key, std::visit(copy_in{db.seed()}, one.value));
        if (one.expires_ms != no_expiry) db.set_expiry(made, one.expires_ms);
    }
}

}  // namespace holdfast::memory
