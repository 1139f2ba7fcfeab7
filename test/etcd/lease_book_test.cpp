// SPDX-License-Identifier: Apache-2.0
//
// Which lease is whose: the book of owners and the pool of leases, without a server.
#include "driver/etcd/standing_book.hpp"

#include <gmock/gmock.h>

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;

const time_point now = time_point() + 1h;
const standing_book::place at{"job", "owner"};

standing on_lease(std::int64_t id, std::uint64_t version) {
    standing one{.entry = {}, .lease = {id, 30, now + 30s}};
    one.entry.version = version;
    return one;
}

TEST(etcd_lease_pool, does_not_keep_what_is_no_lease) {
    lease_pool pool;
    pool.give_back({}, now);
    pool.give_back({0, 30, now + 30s}, now);
    EXPECT_FALSE(pool.take(0, now).has_value());
    EXPECT_FALSE(pool.take(30, now).has_value());
}

TEST(etcd_lease_pool, does_not_lend_a_lease_that_has_ended) {
    lease_pool pool;
    pool.give_back({7, 30, time_point::min()}, now);
    EXPECT_FALSE(pool.take(30, now).has_value());
    pool.give_back({7, 30, now + 30s}, now);
    EXPECT_FALSE(pool.take(30, now + 25s).has_value());
}

TEST(etcd_standing_book, a_rewrite_gets_the_lease_that_it_replaced) {
    standing_book book;
    book.put(at, on_lease(1, 10), now);
    const auto had = book.replace(at, on_lease(2, 11), 10);
    ASSERT_TRUE(had.has_value());
    EXPECT_EQ(had->lease.id, 1);
    EXPECT_EQ(book.find(at)->lease.id, 2);
    EXPECT_FALSE(book.take_on(at, 1).has_value()) << "another request moved it";
    EXPECT_TRUE(book.take_on(at, 2).has_value());
}

TEST(etcd_standing_book, a_rewrite_does_not_bring_back_an_owner_that_left) {
    standing_book book;
    book.put(at, on_lease(1, 10), now);
    ASSERT_TRUE(book.take(at).has_value());
    EXPECT_FALSE(book.replace(at, on_lease(2, 11), 10).has_value());
    EXPECT_FALSE(book.find(at).has_value());
}

TEST(etcd_standing_book, a_rewrite_does_not_replace_a_later_one) {
    standing_book book;
    book.put(at, on_lease(1, 10), now);
    ASSERT_TRUE(book.replace(at, on_lease(3, 12), 10).has_value());
    const auto had = book.replace(at, on_lease(2, 11), 10);
    ASSERT_TRUE(had.has_value());
    EXPECT_TRUE(standing_book::is_newer(*had, 11, 10));
    EXPECT_EQ(book.find(at)->lease.id, 3);
}

TEST(etcd_standing_book, a_server_whose_revisions_went_back_is_believed) {
    standing_book book;
    book.put(at, on_lease(1, 1000), now);
    const auto had = book.replace(at, on_lease(2, 11), 1000);
    ASSERT_TRUE(had.has_value());
    EXPECT_FALSE(standing_book::is_newer(*had, 11, 1000));
    EXPECT_EQ(book.find(at)->lease.id, 2);
}

}  // namespace
}  // namespace holdfast::etcd
