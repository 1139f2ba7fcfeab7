// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/cache_codec.hpp>

#include <boost/json.hpp>

#include <string>
#include <string_view>

/// Values of cache<T> and channel<T> as JSON, by Boost.JSON: readable by programs of other
/// languages, and by another version of this one.
///
///     struct article { std::string title; int views = 0; };
///     BOOST_DESCRIBE_STRUCT(article, (), (title, views))       // or tag_invoke, as Boost explains
///     template <>
///     struct holdfast::codec<article> : holdfast::json_codec<article> {};
///
/// boost::json::value itself needs nothing. Link Boost.JSON, or include <boost/json/src.hpp> in one
/// file of the program. Not part of holdfast.hpp, which needs no Boost.
namespace holdfast {

/// Derive codec<T> from it. Input that is nested deeper than 32 is refused.
template <class T>
struct json_codec {
    [[nodiscard]] static std::string encode(const T& value) {
        return boost::json::serialize(boost::json::value_from(value));
    }
    [[nodiscard]] static result<T> decode(std::string_view bytes) {
        boost::system::error_code failed;
        const auto read = boost::json::parse({bytes.data(), bytes.size()}, failed);
        if (failed) return fail(errc::corrupt, "the value is no JSON: " + failed.message());
        auto value = boost::json::try_value_to<T>(read);
        if (value) return std::move(*value);
        return fail(errc::corrupt, "the JSON is another type's: " + value.error().message());
    }
};

template <>
struct codec<boost::json::value> : json_codec<boost::json::value> {};

}  // namespace holdfast
