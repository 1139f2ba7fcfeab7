// SPDX-License-Identifier: Apache-2.0
#include "push/push_ground.hpp"

#include "support/redis_cluster_group.hpp"
#include "support/redis_sentinel_group.hpp"
#include "support/redis_server.hpp"
#include "support/wait_for.hpp"

#include <fmt/format.h>

#include <atomic>
#include <stdexcept>

namespace holdfast::push::test {
namespace {

std::uint64_t number_behind(std::string_view text, std::string_view key) {
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos) throw std::runtime_error("no " + std::string(key));
    return std::stoull(std::string(text.substr(at + key.size(), 20)));
}

}  // namespace

seen_frame read_frame(const std::string& text) {
    const std::size_t begin = text.find(R"("epoch":")") + 9;
    seen_frame frame{.epoch = text.substr(begin, text.find('"', begin) - begin),
                     .first = number_behind(text, R"("first":)"),
                     .last = number_behind(text, R"("last":)"),
                     .count = number_behind(text, R"("count":)"),
                     .shed = number_behind(text, R"("shed":)"),
                     .offsets = {}};
    constexpr std::string_view key = R"({"offset":)";
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
        frame.offsets.push_back(std::stoull(text.substr(at + key.size(), 20)));
    }
    return frame;
}

void test_viewer::drain(viewers& from) {
    if (!std::exchange(ready_, false)) return;
    while (const shared_text text = from.next(number_)) {
        if (text->starts_with(R"({"type":"frame")")) {
            frames_.push_back(read_frame(*text));
        } else {
            others_.push_back(*text);
        }
    }
}

std::size_t test_viewer::messages() const {
    std::size_t sum = 0;
    for (const seen_frame& f : frames_) sum += f.offsets.size();
    return sum;
}

std::string test_viewer::fault(std::uint64_t joined_at) const {
    std::uint64_t expected = joined_at + 1;
    std::string epoch = frames_.empty() ? "" : frames_.front().epoch;
    for (const seen_frame& f : frames_) {
        if (f.epoch != epoch) return fmt::format("epoch {} behind {}", f.epoch, epoch);
        if (f.first != expected) return fmt::format("{} behind {}", f.first, expected - 1);
        if (f.count != f.offsets.size()) return "count is wrong";
        if (f.count + f.shed != f.last - f.first + 1) return "shed is wrong";
        std::uint64_t before = f.first - 1;
        for (const std::uint64_t offset : f.offsets) {
            if (offset <= before || offset > f.last) return fmt::format("{} out of order", offset);
            before = offset;
        }
        expected = f.last + 1;
    }
    return {};
}

test_comet::test_comet(client& hf, const settings& s, counters* counts, viewer_limits limits)
    : settings_(s),
      comet_(
          std::make_unique<push::comet>(hf, s, std::vector<loop_port*>{this}, log_sink(), counts)),
      loop_(std::make_unique<viewers>(*comet_, 0, settings_, limits, counts)) {
    comet_->start().value();
}

test_comet::~test_comet() {
    loop_.reset();
    comet_->stop();
}

void test_comet::post(comet_event event) {
    const std::scoped_lock guard(mutex_);
    events_.push_back(std::move(event));
}

void test_comet::pump() {
    for (;;) {
        std::optional<comet_event> event;
        {
            const std::scoped_lock guard(mutex_);
            if (events_.empty()) break;
            event.emplace(std::move(events_.front()));
            events_.pop_front();
        }
        loop_->hear(*event);
    }
    for (const auto& v : viewers_) v->drain(*loop_);
}

test_viewer& test_comet::join(const std::string& room, const std::string& user,
                              std::optional<position> resume) {
    viewers_.push_back(std::make_unique<test_viewer>());
    test_viewer& v = *viewers_.back();
    v.attach(loop_->open(v, user));
    if (loop_->join(v.number(), room, std::move(resume)) != join_outcome::joining) {
        throw std::runtime_error("cannot join " + room);
    }
    eventually("joined", {this}, [&] { return v.joined(); });
    return v;
}

void test_comet::close(test_viewer& v) {
    loop_->close(v.number());
}

log_sink test_log::sink() {
    return [state = state_](log_level, std::string_view text) {
        const std::scoped_lock guard(state->mutex);
        state->lines.emplace_back(text);
    };
}

std::vector<std::string> test_log::lines() const {
    const std::scoped_lock guard(state_->mutex);
    return state_->lines;
}

std::size_t test_log::count(std::string_view text) const {
    std::size_t found = 0;
    for (const std::string& line : lines()) found += line.contains(text) ? 1 : 0;
    return found;
}

void eventually(std::string_view what, std::initializer_list<test_comet*> comets,
                const std::function<bool()>& holds) {
    holdfast::test::wait_for(
        what,
        [&] {
            for (test_comet* const one : comets) one->pump();
            return holds();
        },
        std::chrono::seconds(60));
}

post one_message(const std::string& room, const std::string& content, message_class kind) {
    post p{.room = room, .user = 123, .user_name = "Ann"};
    p.messages.push_back({.content = content, .id = {}, .kind = kind});
    return p;
}

// Servers are started by the first case and ended with the program.
std::vector<push_engine> push_engines() {
    using namespace holdfast::test;
    return {{"memory",
             [] {
                 static std::atomic<int> last = 0;
                 return fmt::format("memory:push{}", ++last);
             }},
            {"redis",
             [] {
                 static redis_server server;
                 server.raw("FLUSHALL");
                 return server.url();
             }},
            {"sentinel",
             [] {
                 static redis_sentinel_group group;
                 group.master().raw("FLUSHALL");
                 return group.url() + "?quarantine=0s";
             }},
            {"cluster", [] {
                 static redis_cluster_group group;
                 for (const auto& node : group.nodes()) node->raw("FLUSHALL");
                 return group.url() + "?quarantine=0s";
             }}};
}

}  // namespace holdfast::push::test
