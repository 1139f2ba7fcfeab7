// SPDX-License-Identifier: Apache-2.0
//
// The sequences of limiter_model_test.cpp on a real Redis, whose time of day the test moves. One
// trip for each operation, so a shorter run of them.
#include "support/redis_server.hpp"
#include "support/temporary_directory.hpp"
#include "traffic/model_duel.hpp"

#include <holdfast/redis/redis.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>

namespace holdfast::test {
namespace {

/// The file from which a preloaded server reads its time.
class told_time_file {
public:
    told_time_file() : path_(directory_.path() / "time") {
        const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || ::ftruncate(fd, sizeof(std::int64_t)) != 0) {
            throw std::runtime_error("cannot make " + path_.string());
        }
        void* const page =
            ::mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ::close(fd);
        if (page == MAP_FAILED) throw std::runtime_error("cannot map " + path_.string());
        // 2026-01-01 01:00, as the virtual clock starts.
        us_ = new (page) std::atomic<std::int64_t>(1'767'229'200'000'000);
    }
    told_time_file(const told_time_file&) = delete;
    told_time_file& operator=(const told_time_file&) = delete;
    ~told_time_file() { ::munmap(us_, sizeof(std::int64_t)); }

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::int64_t us() const { return us_->load(); }
    void advance(std::int64_t by) { us_->fetch_add(by); }

private:
    temporary_directory directory_;
    std::filesystem::path path_;
    std::atomic<std::int64_t>* us_ = nullptr;
};

class redis_limiter_model : public testing::TestWithParam<duel_rule> {};

TEST_P(redis_limiter_model, and_a_real_redis_agree_on_every_answer) {
    told_time_file time;
    redis_server server({.preload = TOLD_CLOCK_LIBRARY,
                         .environment = {"HOLDFAST_CLOCK_FILE=" + time.path().string()}});
    const std::shared_ptr<command_engine> engine = open_redis(server.url()).value();
    ASSERT_EQ(server.raw("TIME").elements().at(0).text(), "1767229200");
    const duel_ground ground{
        .where = command_access(engine),
        .now_us = [&] { return time.us(); },
        .advance_us = [&](std::int64_t us) { time.advance(us); },
    };
    fight(ground, GetParam(), 42, operations_or(20'000));
}

INSTANTIATE_TEST_SUITE_P(rules, redis_limiter_model, testing::ValuesIn(duel_rules()),
                         [](const auto& rule) { return rule.param.name; });

}  // namespace
}  // namespace holdfast::test
