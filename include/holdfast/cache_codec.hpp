// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>

#include <concepts>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

/// How a value becomes bytes, and bytes a value.
///
/// Strings and trivially copyable types need nothing. For any other type say it once:
///
///     template <>
///     struct holdfast::codec<article> {
///         static std::string encode(const article& a) { return to_json(a); }
///         static holdfast::result<article> decode(std::string_view bytes) { … }
///     };
namespace holdfast {

/// Specialize it for types of your own. decode() may refuse what another version of the program
/// wrote: a cache then loads the value anew.
template <class T>
struct codec;

template <>
struct codec<std::string> {
    [[nodiscard]] static std::string encode(std::string_view value) { return std::string(value); }
    [[nodiscard]] static result<std::string> decode(std::string_view bytes) {
        return std::string(bytes);
    }
};

/// The bytes as they lie in memory: for programs of one kind of machine, and structs that keep
/// their layout. Padding is stored too.
template <class T>
    requires std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>
struct codec<T> {
    static_assert(!std::is_pointer_v<T>, "a pointer means nothing to another process");

    [[nodiscard]] static std::string encode(const T& value) {
        std::string bytes(sizeof(T), '\0');
        std::memcpy(bytes.data(), &value, sizeof(T));
        return bytes;
    }
    [[nodiscard]] static result<T> decode(std::string_view bytes) {
        if (bytes.size() != sizeof(T)) {
            return fail(errc::corrupt, "the value has another size than its type");
        }
        T value;
        std::memcpy(&value, bytes.data(), sizeof(T));
        return value;
    }
};

template <class T>
concept encodable = requires(const T& value, std::string_view bytes) {
    { codec<T>::encode(value) } -> std::convertible_to<std::string>;
    { codec<T>::decode(bytes) } -> std::same_as<result<T>>;
};

}  // namespace holdfast
