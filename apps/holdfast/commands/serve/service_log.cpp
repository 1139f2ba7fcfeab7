// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/service_log.hpp"

#include "net/http_message.hpp"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>

namespace holdfast::app {
namespace {

spdlog::level::level_enum level_of(push::log_level level) {
    switch (level) {
        case push::log_level::info: return spdlog::level::info;
        case push::log_level::warning: return spdlog::level::warn;
        case push::log_level::error: return spdlog::level::err;
    }
    return spdlog::level::info;
}

// %* is the text as a string of JSON.
class json_text_flag final : public spdlog::custom_flag_formatter {
public:
    void format(const spdlog::details::log_msg& message, const std::tm& /*when*/,
                spdlog::memory_buf_t& out) override {
        const std::string text = net::quoted_json({message.payload.data(), message.payload.size()});
        out.append(text.data(), text.data() + text.size());
    }
    [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
        return std::make_unique<json_text_flag>();
    }
};

std::unique_ptr<spdlog::logger> make_logger(log_form form) {
    if (form == log_form::text) {
        auto made = std::make_unique<spdlog::logger>(
            "serve", std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>());
        made->set_pattern("%H:%M:%S.%e %^%L%$ %v");
        return made;
    }
    auto made = std::make_unique<spdlog::logger>("serve",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    auto lines = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
    lines->add_flag<json_text_flag>('*').set_pattern(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%*})");
    made->set_formatter(std::move(lines));
    return made;
}

}  // namespace

class service_log::impl {
public:
    impl(log_form form, bool quiet) : logger(make_logger(form)) {
        logger->set_level(quiet ? spdlog::level::warn : spdlog::level::info);
    }
    std::unique_ptr<spdlog::logger> logger;
    std::atomic<std::uint64_t> lines = 0;
};

service_log::service_log(log_form form, bool quiet) : impl_(std::make_unique<impl>(form, quiet)) {}

service_log::~service_log() = default;

void service_log::write(push::log_level level, std::string_view text) {
    ++impl_->lines;
    impl_->logger->log(level_of(level), spdlog::string_view_t(text.data(), text.size()));
}

std::uint64_t service_log::lines() const noexcept {
    return impl_->lines;
}

}  // namespace holdfast::app
