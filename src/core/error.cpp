// SPDX-License-Identifier: Apache-2.0
#include <holdfast/error.hpp>

namespace holdfast {

std::string_view to_string(errc code) noexcept {
    switch (code) {
        case errc::busy: return "busy";
        case errc::timed_out: return "timed_out";
        case errc::lease_lost: return "lease_lost";
        case errc::outcome_unknown: return "outcome_unknown";
        case errc::unavailable: return "unavailable";
        case errc::denied: return "denied";
        case errc::unsupported: return "unsupported";
        case errc::invalid_argument: return "invalid_argument";
        case errc::cancelled: return "cancelled";
        case errc::corrupt: return "corrupt";
    }
    return "unknown_error";
}

std::string to_string(const error& e) {
    std::string text(to_string(e.code));
    if (!e.detail.empty()) {
        text += ": ";
        text += e.detail;
    }
    return text;
}

namespace {

class category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "holdfast"; }
    [[nodiscard]] std::string message(int code) const override {
        return std::string(to_string(static_cast<errc>(code)));
    }
    [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
        switch (static_cast<errc>(code)) {
            case errc::timed_out: return std::errc::timed_out;
            case errc::denied: return std::errc::permission_denied;
            case errc::unsupported: return std::errc::operation_not_supported;
            case errc::invalid_argument: return std::errc::invalid_argument;
            case errc::cancelled: return std::errc::operation_canceled;
            case errc::busy: return std::errc::device_or_resource_busy;
            default: return {code, *this};
        }
    }
};

}  // namespace

const std::error_category& error_category() noexcept {
    static const category instance;
    return instance;
}

std::error_code make_error_code(errc code) noexcept {
    return {static_cast<int>(code), error_category()};
}

}  // namespace holdfast
