// SPDX-License-Identifier: Apache-2.0
#include <holdfast/rounds.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::detail {
namespace {

thread_local delivery_round* open_delivery = nullptr;
thread_local request_round* open_requests = nullptr;

// About what it costs to wake a thread.
constexpr duration longest_wait = std::chrono::microseconds(50);

bool is_late(time_point since) {
    return system_clock().now() - since > longest_wait;
}

}  // namespace

delivery_round::delivery_round() noexcept : outer_(std::exchange(open_delivery, this)) {}

delivery_round::~delivery_round() {
    open_delivery = outer_;
    send();
}

delivery_round* delivery_round::current() noexcept {
    return open_delivery;
}

void delivery_round::begin(std::unique_ptr<parcel> next) {
    send();
    open_ = std::move(next);
    since_ = system_clock().now();
}

void delivery_round::step() {
    if (open_ != nullptr && is_late(since_)) send();
}

void delivery_round::send() {
    if (const auto full = std::exchange(open_, nullptr)) full->send();
}

request_round::request_round() noexcept : outer_(std::exchange(open_requests, this)) {}

request_round::~request_round() {
    open_requests = outer_;
    send();
}

request_round* request_round::current() noexcept {
    return open_requests;
}

void request_round::add(const std::shared_ptr<sender>& one) {
    if (std::ranges::find(senders_, one) != senders_.end()) return;
    if (senders_.empty()) since_ = system_clock().now();
    senders_.push_back(one);
}

void request_round::step() {
    if (!senders_.empty() && is_late(since_)) send();
}

void request_round::send() {
    for (const auto& one : std::exchange(senders_, {})) one->send_gathered();
}

}  // namespace holdfast::detail
