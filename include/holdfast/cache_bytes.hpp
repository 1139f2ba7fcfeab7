// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/cache_options.hpp>
#include <holdfast/engine/command_access.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

/// What cache<T> stands on: the same members for bytes. See cache.hpp for their contracts.
namespace holdfast {

/// What became of the deletion after a write.
enum class update_outcome : std::uint8_t {
    deleted,  ///< The entry is gone: a read that begins now sees what was written.
    pending,  ///< The engine did not answer; it is noted, and will be deleted by this process or
              ///< another one. Until then the old value may be read.
    lost      ///< Not even a note could be made: the old value may be read until it expires.
};

namespace detail {

using byte_loader = std::function<result<std::optional<std::string>>(std::string_view key)>;

struct peeked_bytes {
    std::optional<std::string> value;
    bool stale = false;
};

class cache_bytes {
public:
    using reader = void (*)(void* to, std::string_view value, bool absent);

    virtual ~cache_bytes() = default;

    virtual bool find_local(std::string_view key, reader read, void* to) = 0;
    virtual result<std::optional<std::string>> get(std::string_view key,
                                                   const byte_loader& load) = 0;
    virtual std::vector<result<std::optional<std::string>>> get_many(
        std::span<const std::string_view> keys, const byte_loader& load) = 0;
    virtual result<std::optional<peeked_bytes>> peek(std::string_view key) = 0;
    virtual result<void> put(std::string_view key, const std::optional<std::string>& value) = 0;
    virtual result<bool> invalidate(std::string_view key) = 0;
    virtual result<std::optional<std::string>> refresh(std::string_view key,
                                                       const byte_loader& load) = 0;
    virtual result<update_outcome> update(std::string_view key,
                                          const std::function<result<void>()>& write) = 0;
    virtual result<std::size_t> work_off() = 0;
    virtual result<void> changed(std::string_view key) = 0;
    virtual result<void> keep_fresh(const std::stop_token& stop) = 0;
    [[nodiscard]] virtual cache_statistics statistics() const = 0;
    [[nodiscard]] virtual const command_access& where() const = 0;
    [[nodiscard]] virtual const cache_options& options() const = 0;
    [[nodiscard]] virtual const byte_loader& background() const = 0;
};

[[nodiscard]] std::shared_ptr<cache_bytes> make_cache(command_access where, cache_options options,
                                                      byte_loader background);

}  // namespace detail
}  // namespace holdfast
