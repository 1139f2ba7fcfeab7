// SPDX-License-Identifier: Apache-2.0
#include "driver/etcd/etcd_requests.hpp"

#include "lease/ordered/entry_text.hpp"

#include <utility>

namespace holdfast::etcd {

wire::Compare nothing_in(const ordered::key_range& keys) {
    wire::Compare test = absent(keys.first);
    test.set_range_end(keys.end);
    return test;
}

// A key that does not exist compares as if it had been made at revision 0.
wire::Compare absent(const std::string& key) {
    wire::Compare test;
    test.set_result(wire::Compare::EQUAL);
    test.set_target(wire::Compare::CREATE);
    test.set_key(key);
    test.set_create_revision(0);
    return test;
}

wire::Compare unchanged(const std::string& key, std::uint64_t version) {
    wire::Compare test;
    test.set_result(wire::Compare::EQUAL);
    test.set_target(wire::Compare::MOD);
    test.set_key(key);
    test.set_mod_revision(static_cast<std::int64_t>(version));
    return test;
}

wire::RequestOp put(const std::string& key, std::string value, std::int64_t lease) {
    wire::RequestOp op;
    op.mutable_request_put()->set_key(key);
    op.mutable_request_put()->set_value(std::move(value));
    op.mutable_request_put()->set_lease(lease);
    return op;
}

wire::RequestOp remove(const std::string& key) {
    wire::RequestOp op;
    op.mutable_request_delete_range()->set_key(key);
    return op;
}

wire::RequestOp get(const std::string& key) {
    wire::RequestOp op;
    op.mutable_request_range()->set_key(key);
    return op;
}

wire::RequestOp get(const ordered::key_range& keys) {
    wire::RequestOp op;
    *op.mutable_request_range() = range_of(keys);
    return op;
}

wire::RangeRequest range_of(const ordered::key_range& keys) {
    wire::RangeRequest range;
    range.set_key(keys.first);
    range.set_range_end(keys.end);
    return range;
}

ordered::queue_entry entry_of(const wire::KeyValue& stored) {
    ordered::queue_entry entry{.key = stored.key(),
                               .owner = {},
                               .position = static_cast<std::uint64_t>(stored.create_revision()),
                               .version = static_cast<std::uint64_t>(stored.mod_revision()),
                               .lease = stored.lease()};
    ordered::read_entry_text(stored.value(), entry);
    return entry;
}

std::vector<ordered::queue_entry> entries_of(const wire::RangeResponse& stored,
                                             const ordered::name_keys& keys,
                                             std::string_view name) {
    std::vector<ordered::queue_entry> all;
    for (const wire::KeyValue& one : stored.kvs()) {
        if (keys.name_of(one.key()) == name) all.push_back(entry_of(one));
    }
    return all;
}

}  // namespace holdfast::etcd
