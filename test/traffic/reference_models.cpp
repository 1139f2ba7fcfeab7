// SPDX-License-Identifier: Apache-2.0
#include "traffic/reference_models.hpp"

#include "core/overloaded.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

namespace holdfast::test {
namespace {

using detail::overloaded;
using std::chrono::microseconds;

__extension__ using wide = __int128;

std::int64_t us_of(duration d) {
    return std::chrono::ceil<microseconds>(d).count();
}

decision shown(bool allowed, std::uint64_t limit, std::uint64_t used, std::int64_t retry_us,
               std::int64_t reset_us) {
    decision made{.allowed = allowed, .limit = limit};
    made.remaining = used < limit ? limit - used : 0;
    made.retry_after = microseconds(retry_us);
    made.reset_after = microseconds(reset_us);
    return made;
}

/// Starts with the first take. An engine's key lives for whole milliseconds, its last one included.
class fixed_model final : public limit_model {
public:
    explicit fixed_model(const fixed_window& r)
        : limit_(r.limit), window_ms_((us_of(r.window) + 999) / 1000) {}

    decision step(model_op op, std::int64_t now_us, std::uint64_t n) override {
        const std::int64_t now_ms = now_us / 1000;
        if (now_ms > end_ms_) used_ = 0;
        if (op == model_op::give) used_ -= std::min(used_, n);
        const bool fits = op == model_op::give || used_ + n <= limit_;
        if (op == model_op::take && fits) {
            if (used_ == 0) end_ms_ = now_ms + window_ms_;
            used_ += n;
        }
        const std::int64_t left = used_ > 0 ? (end_ms_ - now_ms) * 1000 : 0;
        return shown(fits, limit_, used_, fits ? 0 : left + 1000, left);
    }

private:
    std::uint64_t limit_;
    std::int64_t window_ms_;
    std::uint64_t used_ = 0;
    std::int64_t end_ms_ = -1;
};

class log_model final : public limit_model {
public:
    explicit log_model(const sliding_log& r) : limit_(r.limit), window_(us_of(r.window)) {}

    decision step(model_op op, std::int64_t now_us, std::uint64_t n) override {
        std::erase_if(takes_, [&](const entry& e) { return e.at + window_ <= now_us; });
        if (op == model_op::give) give(n);
        std::uint64_t used = 0;
        for (const entry& e : takes_) used += e.n;
        const bool fits = op == model_op::give || used + n <= limit_;
        std::int64_t retry = 0;
        if (!fits) {
            std::uint64_t gone = 0;
            for (const entry& e : takes_) {
                gone += e.n;
                retry = e.at + window_ - now_us;
                if (used - gone + n <= limit_) break;
            }
        } else if (op == model_op::take) {
            takes_.push_back({now_us, n});
            used += n;
        }
        const std::int64_t reset = takes_.empty() ? 0 : takes_.back().at + window_ - now_us;
        return shown(fits, limit_, used, retry, reset);
    }

private:
    struct entry {
        std::int64_t at;
        std::uint64_t n;
    };
    void give(std::uint64_t n) {
        while (n > 0 && !takes_.empty()) {
            const std::uint64_t back = std::min(n, takes_.back().n);
            takes_.back().n -= back;
            n -= back;
            if (takes_.back().n == 0) takes_.pop_back();
        }
    }

    std::uint64_t limit_;
    std::int64_t window_;
    std::deque<entry> takes_;
};

class counter_model final : public limit_model {
public:
    explicit counter_model(const sliding_counter& r)
        : rule_(r), width_((us_of(r.window) + r.parts - 1) / r.parts) {}

    decision step(model_op op, std::int64_t now_us, std::uint64_t n) override {
        const std::int64_t index = now_us / width_;
        const std::int64_t into = now_us % width_;
        std::erase_if(parts_, [&](const auto& p) { return p.first < index - rule_.parts; });
        if (op == model_op::give) give(n);
        const bool fits = op == model_op::give || fits_at(index, into, n);
        std::int64_t retry = 0;
        if (!fits) retry = wait_for(index, into, n);
        if (fits && op == model_op::take) parts_[index] += n;
        std::int64_t reset = 0;
        for (const auto& [at, count] : parts_) {
            if (count > 0) reset = (at + rule_.parts + 1) * width_ - now_us;
        }
        const auto used = static_cast<std::uint64_t>(std::ceil(used_at(index, into)));
        return shown(fits, rule_.limit, used, retry, reset);
    }

private:
    [[nodiscard]] double used_at(std::int64_t index, std::int64_t into) const {
        double total = 0;
        double oldest = 0;
        for (const auto& [at, count] : parts_) {
            if (at < index - rule_.parts) continue;
            total += static_cast<double>(count);
            if (at == index - rule_.parts) oldest = static_cast<double>(count);
        }
        if (rule_.mode == counting::strict) return total;
        return total - oldest +
               oldest * static_cast<double>(width_ - into) / static_cast<double>(width_);
    }
    [[nodiscard]] bool fits_at(std::int64_t index, std::int64_t into, std::uint64_t n) const {
        return used_at(index, into) + static_cast<double>(n) <= static_cast<double>(rule_.limit);
    }
    // The first moment at which n fit: the part is searched one by one, the moment by halving.
    [[nodiscard]] std::int64_t wait_for(std::int64_t index, std::int64_t into,
                                        std::uint64_t n) const {
        std::int64_t part = index;
        while (!fits_at(part, width_ - 1, n) && !fits_at(part + 1, 0, n)) ++part;
        std::int64_t low = part == index ? into : 0;
        std::int64_t high = width_;
        while (low < high) {
            const std::int64_t middle = (low + high) / 2;
            if (fits_at(part, middle, n)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return (part - index) * width_ + low - into;
    }
    void give(std::uint64_t n) {
        for (auto part = parts_.rbegin(); part != parts_.rend() && n > 0; ++part) {
            const std::uint64_t back = std::min(n, part->second);
            part->second -= back;
            n -= back;
        }
    }

    sliding_counter rule_;
    std::int64_t width_;
    std::map<std::int64_t, std::uint64_t> parts_;
};

/// Tokens that are refilled. Counted in units of 1 / (period in microseconds), so that each
/// microsecond brings exactly `rate` of them and a token is `period`.
class bucket_model final : public limit_model {
public:
    bucket_model(std::uint64_t rate, duration period, std::uint64_t at_once, std::uint64_t queue)
        : rate_(static_cast<std::int64_t>(rate)),
          token_(us_of(period)),
          at_once_(static_cast<wide>(at_once) * token_),
          full_(at_once_ + static_cast<wide>(queue) * token_),
          limit_(at_once + queue),
          credit_(full_) {}

    decision step(model_op op, std::int64_t now_us, std::uint64_t n) override {
        credit_ = std::min(full_, credit_ + static_cast<wide>(now_us - seen_us_) * rate_);
        seen_us_ = now_us;
        const wide asked = static_cast<wide>(n) * token_;
        if (op == model_op::give) credit_ = std::min(full_, credit_ + asked);
        const bool fits = op == model_op::give || asked <= credit_;
        decision made{.allowed = fits, .limit = limit_};
        if (!fits) made.retry_after = time_of(asked - credit_);
        if (op != model_op::give && fits) {
            const wide owed = full_ - credit_ + asked;
            if (owed > at_once_) made.delay = time_of(owed - at_once_);
            if (op == model_op::take) credit_ -= asked;
        }
        made.remaining = static_cast<std::uint64_t>(credit_ / token_);
        made.reset_after = time_of(full_ - credit_);
        return made;
    }

private:
    [[nodiscard]] duration time_of(wide units) const {
        return microseconds(static_cast<std::int64_t>((units + rate_ - 1) / rate_));
    }

    std::int64_t rate_;
    std::int64_t token_;
    wide at_once_;
    wide full_;
    std::uint64_t limit_;
    wide credit_;
    std::int64_t seen_us_ = 0;
};

}  // namespace

std::unique_ptr<limit_model> make_model(const limit_rule& rule) {
    return std::visit(overloaded{
                          [](const fixed_window& r) -> std::unique_ptr<limit_model> {
                              return std::make_unique<fixed_model>(r);
                          },
                          [](const sliding_log& r) -> std::unique_ptr<limit_model> {
                              return std::make_unique<log_model>(r);
                          },
                          [](const sliding_counter& r) -> std::unique_ptr<limit_model> {
                              return std::make_unique<counter_model>(r);
                          },
                          [](const token_bucket& r) -> std::unique_ptr<limit_model> {
                              return std::make_unique<bucket_model>(r.refill, r.period, r.capacity,
                                                                    0);
                          },
                          [](const leaky_bucket& r) -> std::unique_ptr<limit_model> {
                              return std::make_unique<bucket_model>(r.drain, r.period, 1, r.queue);
                          },
                      },
                      rule);
}

}  // namespace holdfast::test
