// SPDX-License-Identifier: Apache-2.0
#include <holdfast/engine/delivery_round.hpp>

#include <utility>

namespace holdfast::detail {
namespace {

thread_local delivery_round* open_round = nullptr;

}  // namespace

delivery_round::delivery_round() noexcept : outer_(std::exchange(open_round, this)) {}

delivery_round::~delivery_round() {
    open_round = outer_;
    send();
}

delivery_round* delivery_round::current() noexcept {
    return open_round;
}

void delivery_round::begin(std::unique_ptr<parcel> next) {
    send();
    open_ = std::move(next);
}

void delivery_round::send() {
    if (const auto full = std::exchange(open_, nullptr)) full->send();
}

}  // namespace holdfast::detail
