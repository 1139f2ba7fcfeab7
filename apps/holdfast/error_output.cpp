// SPDX-License-Identifier: Apache-2.0
#include "error_output.hpp"

#include "error_messages.hpp"
#include "printable.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace holdfast::app {
namespace {

bool detailed = false;  // set once, while the words are read

}  // namespace

void complain_in_detail() {
    detailed = true;
}

bool complains_in_detail() {
    return detailed;
}

void complain(std::string_view sentence) {
    fmt::print(stderr, "holdfast: {}\n", printable(sentence));
}

exit_code complain(const error& why, std::string_view prevented) {
    const std::string plain = plain_words(why.detail);
    complain(prevented.empty() ? plain : fmt::format("{}: {}", prevented, plain));
    if (detailed && plain != why.detail) fmt::print(stderr, "  {}\n", printable(why.detail));
    return exit_code_of(why.code);
}

}  // namespace holdfast::app
