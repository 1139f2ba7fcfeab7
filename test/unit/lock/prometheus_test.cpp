// SPDX-License-Identifier: Apache-2.0
#include <holdfast/prometheus.hpp>

#include "lock/counters.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

std::string text(const client_statistics& seen, const std::vector<metric_label>& labels = {}) {
    return to_prometheus(seen, labels).value();
}

errc refused(const metric_label& label) {
    const auto said = to_prometheus({}, {&label, 1});
    if (said) return errc{};
    EXPECT_THAT(said.error().detail, HasSubstr("label '"));
    return said.error().code;
}

TEST(prometheus, every_metric_is_described_before_its_samples) {
    client_statistics seen;
    seen.acquired = 7;
    seen.held = 2;
    const auto page = text(seen);
    EXPECT_THAT(page, HasSubstr("# HELP holdfast_leases_acquired_total Leases granted.\n"
                                "# TYPE holdfast_leases_acquired_total counter\n"
                                "holdfast_leases_acquired_total 7\n"));
    EXPECT_THAT(page, HasSubstr("# TYPE holdfast_leases_held gauge\nholdfast_leases_held 2\n"));
    EXPECT_TRUE(page.ends_with('\n'));
}

TEST(prometheus, losses_are_told_by_reason) {
    client_statistics seen;
    seen.lost_by_reason = {.expired = 1, .missing = 2, .max_hold = 3, .closed = 4};
    const auto page = text(seen, {{"service", "orders"}});
    EXPECT_THAT(page,
                HasSubstr("holdfast_leases_lost_total{service=\"orders\",reason=\"missing\"} 2\n"));
    EXPECT_THAT(page, HasSubstr("{service=\"orders\",reason=\"max_hold\"} 3\n"));
}

TEST(prometheus, those_who_wait_are_told_by_mode) {
    client_statistics seen;
    seen.waiting_by_mode = {.exclusive = 1, .shared = 20, .permit = 3};
    EXPECT_THAT(text(seen, {{"service", "orders"}}),
                HasSubstr("# TYPE holdfast_acquires_waiting gauge\n"
                          "holdfast_acquires_waiting{service=\"orders\",mode=\"exclusive\"} 1\n"
                          "holdfast_acquires_waiting{service=\"orders\",mode=\"shared\"} 20\n"
                          "holdfast_acquires_waiting{service=\"orders\",mode=\"permit\"} 3\n"));
    EXPECT_EQ(refused({"mode", "x"}), errc::invalid_argument);
}

TEST(prometheus, a_histogram_counts_upwards_and_ends_with_all_of_it) {
    detail::histogram_counter waited;
    waited.add(1500ns);  // in the first bucket, below 2 us
    waited.add(3us);     // in the second
    waited.add(1000s);   // in the last
    client_statistics seen;
    seen.waiting_time = waited.read();
    const auto page = text(seen);
    EXPECT_THAT(page, HasSubstr("# TYPE holdfast_waiting_seconds histogram\n"
                                "holdfast_waiting_seconds_bucket{le=\"2e-06\"} 1\n"
                                "holdfast_waiting_seconds_bucket{le=\"4e-06\"} 2\n"));
    EXPECT_THAT(page, HasSubstr("holdfast_waiting_seconds_bucket{le=\"134.217728\"} 2\n"
                                "holdfast_waiting_seconds_bucket{le=\"+Inf\"} 3\n"
                                "holdfast_waiting_seconds_sum 1000.0000045\n"
                                "holdfast_waiting_seconds_count 3\n"));
}

TEST(prometheus, a_labels_value_is_escaped) {
    const auto page = text({}, {{"path", "a\\b\"c\nd\xC3\xA9"}});
    EXPECT_THAT(page, HasSubstr("holdfast_leases_held{path=\"a\\\\b\\\"c\\nd\xC3\xA9\"} 0\n"));
    EXPECT_THAT(page, Not(HasSubstr("c\nd")));
}

TEST(prometheus, a_label_that_prometheus_would_refuse_is_refused) {
    EXPECT_EQ(refused({"service", "x"}), errc{});
    EXPECT_EQ(refused({"_s9", ""}), errc{});
    for (const char* bad :
         {"", "9lives", "with-dash", "with space", "__name", "le", "reason", "\xC3"}) {
        EXPECT_EQ(refused({bad, "x"}), errc::invalid_argument) << bad;
    }
    EXPECT_EQ(refused({"service", "\xFF"}), errc::invalid_argument);
    const std::vector<metric_label> twice{{"a", "1"}, {"a", "2"}};
    EXPECT_EQ(to_prometheus({}, twice).error(), errc::invalid_argument);
}

TEST(histogram, a_percentile_is_right_to_a_factor_of_two) {
    detail::histogram_counter seen;
    EXPECT_EQ(seen.read().percentile(0.5), 0ns);
    for (int i = 0; i < 99; ++i) seen.add(100us);
    seen.add(5ms);
    EXPECT_EQ(seen.read().count(), 100U);
    EXPECT_EQ(seen.read().percentile(0.0), 128us);
    EXPECT_EQ(seen.read().percentile(0.99), 128us);
    EXPECT_EQ(seen.read().percentile(1.0), 8192us);
    seen.add(-1s);
    seen.add(duration::zero());
    EXPECT_EQ(seen.read().counts[0], 2U) << "what came out negative counts as nothing";
    EXPECT_EQ(seen.read().sum, 99 * 100us + 5ms);
}

}  // namespace
}  // namespace holdfast
