// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/http_message.hpp"

#include <functional>
#include <string>
#include <vector>

/// From a method and a path to what answers it.
namespace holdfast::net {

/// The parts of the path that a pattern leaves open, in order.
using path_parts = std::vector<std::string>;
using http_handler = std::function<http_response(const http_request&, const path_parts&)>;

class router {
public:
    /// `pattern` is a path whose parts in braces match anything: "/logic/rooms/{room}/history".
    /// A GET also answers HEAD.
    void add(std::string method, std::string pattern, http_handler handler);

    /// 404 if no pattern fits; 405 with Allow if one does, for other methods.
    [[nodiscard]] http_response answer(const http_request& request) const;

private:
    struct route {
        std::string method;
        std::vector<std::string> pattern;
        http_handler handler;
    };
    std::vector<route> routes_;
};

}  // namespace holdfast::net
