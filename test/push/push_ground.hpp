// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/push/comet.hpp>
#include <holdfast/push/job.hpp>
#include <holdfast/push/logic.hpp>
#include <holdfast/push/viewers.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

/// What the cases of live push stand on: viewers that write down what they get, a log, and one
/// loop that a case runs on its own thread.
namespace holdfast::push::test {

/// A frame as a viewer reads it.
struct seen_frame {
    std::string epoch;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t count = 0;
    std::uint64_t shed = 0;
    std::vector<std::uint64_t> offsets;
};

[[nodiscard]] seen_frame read_frame(const std::string& text);

/// One connection. Takes what there is at once, unless it is told to be slow.
class test_viewer final : public viewer {
public:
    void ready() override { ready_ = true; }
    void too_slow(shared_text hint) override { hint_ = std::move(hint); }

    void drain(viewers& from);
    void attach(viewers::id number) { number_ = number; }
    [[nodiscard]] viewers::id number() const noexcept { return number_; }

    [[nodiscard]] const std::vector<seen_frame>& frames() const noexcept { return frames_; }
    [[nodiscard]] const std::vector<std::string>& others() const noexcept { return others_; }
    [[nodiscard]] const shared_text& hint() const noexcept { return hint_; }
    [[nodiscard]] bool joined() const noexcept { return !others_.empty(); }
    [[nodiscard]] std::uint64_t last() const { return frames_.empty() ? 0 : frames_.back().last; }
    [[nodiscard]] std::size_t messages() const;

    /// Empty, or what is wrong: a hole, a message twice, or one out of order. Frames must follow
    /// each other from the offset at which it joined.
    [[nodiscard]] std::string fault(std::uint64_t joined_at = 0) const;

private:
    viewers::id number_ = 0;
    bool ready_ = false;
    std::vector<seen_frame> frames_;
    std::vector<std::string> others_;
    shared_text hint_;
};

/// A Comet with one loop, which runs when pump() is called.
class test_comet final : public loop_port {
public:
    test_comet(client& hf, const settings& s, counters* counts = nullptr,
               viewer_limits limits = {});
    ~test_comet() override;

    void post(comet_event event) override;
    void pump();

    /// Opens a connection and joins the room; waits for the answer.
    test_viewer& join(const std::string& room, const std::string& user = "1",
                      std::optional<position> resume = {});
    void close(test_viewer& v);
    [[nodiscard]] viewers& loop() { return *loop_; }
    [[nodiscard]] push::comet& comet() { return *comet_; }

private:
    settings settings_;
    std::mutex mutex_;
    std::deque<comet_event> events_;
    std::unique_ptr<push::comet> comet_;
    std::unique_ptr<viewers> loop_;
    std::vector<std::unique_ptr<test_viewer>> viewers_;
};

/// Log lines, in the order in which they were written.
class test_log {
public:
    [[nodiscard]] log_sink sink();
    [[nodiscard]] std::vector<std::string> lines() const;
    /// How many lines contain the text.
    [[nodiscard]] std::size_t count(std::string_view text) const;

private:
    struct state {
        std::mutex mutex;
        std::vector<std::string> lines;
    };
    std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// Pumps the Comets until it holds; throws with `what` if it does not for a long time.
void eventually(std::string_view what, std::initializer_list<test_comet*> comets,
                const std::function<bool()>& holds);

[[nodiscard]] post one_message(const std::string& room, const std::string& content,
                               message_class kind = message_class::normal);

/// An engine of its own for each case: a name for gtest, and how to open it.
struct push_engine {
    std::string name;
    std::function<std::string()> url;
};
[[nodiscard]] std::vector<push_engine> push_engines();

}  // namespace holdfast::push::test
