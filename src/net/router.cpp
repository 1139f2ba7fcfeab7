// SPDX-License-Identifier: Apache-2.0
#include "net/router.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::net {
namespace {

// Split before it is decoded, so that an escaped slash stays inside of its part.
std::vector<std::string> parts_of(std::string_view path) {
    std::vector<std::string> out;
    path.remove_prefix(std::min<std::size_t>(1, path.size()));
    while (true) {
        const auto slash = path.find('/');
        out.emplace_back(path.substr(0, slash));
        if (slash == std::string_view::npos) return out;
        path.remove_prefix(slash + 1);
    }
}

bool is_open(std::string_view part) {
    return part.starts_with('{');
}

bool fits(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
    return std::ranges::equal(pattern, path, [](const auto& wanted, const auto& part) {
        return is_open(wanted) ? !part.empty() : wanted == part;
    });
}

}  // namespace

void router::add(std::string method, std::string pattern, http_handler handler) {
    routes_.push_back({std::move(method), parts_of(pattern), std::move(handler)});
}

http_response router::answer(const http_request& request) const {
    std::vector<std::string> path = parts_of(request.target.substr(0, request.target.find('?')));
    for (auto& part : path) {
        if (const auto decoded = decode_target("/" + part)) part = decoded->path.substr(1);
    }
    std::string_view method = request.method;
    if (method == "HEAD") method = "GET";
    std::string allowed;
    for (const auto& one : routes_) {
        if (!fits(one.pattern, path)) continue;
        if (one.method != method) {
            allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", one.method);
            continue;
        }
        path_parts open;
        for (std::size_t i = 0; i < path.size(); ++i) {
            if (is_open(one.pattern[i])) open.push_back(path[i]);
        }
        return one.handler(request, open);
    }
    if (allowed.empty()) return problem(404, "not_found", "there is nothing at this path");
    auto refused = problem(405, "method_not_allowed", "this path answers " + allowed);
    refused.headers.emplace_back("Allow", allowed);
    return refused;
}

}  // namespace holdfast::net
