// SPDX-License-Identifier: Apache-2.0
#include "conformance/lease/testbed.hpp"

#include <algorithm>

namespace holdfast::test {
namespace {

// Made by the first that asks: the testbeds come from objects of several files, in any order.
std::vector<lease_engine>& offered() {
    static std::vector<lease_engine> all;
    return all;
}

}  // namespace

offered_testbed::offered_testbed(std::string name, std::function<std::unique_ptr<testbed>()> make) {
    offered().push_back({std::move(name), std::move(make)});
}

std::vector<lease_engine> lease_engines() {
    std::vector<lease_engine> all = offered();
    std::ranges::sort(all, {}, &lease_engine::name);
    return all;
}

}  // namespace holdfast::test
