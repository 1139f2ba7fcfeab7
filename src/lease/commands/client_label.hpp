// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/engine/command_engine.hpp>
#include <holdfast/lease_info.hpp>
#include <holdfast/names.hpp>

#include <memory>
#include <string>
#include <string_view>

/// Who a client is, kept where whoever lists the leases can read it.
///
///     holdfast:client:4f0c…    "pid host program"
///
/// A lock's value begins with its client's id, and this key says who that is. It is written in the
/// background, and only by what is rare anyway: a renewal, or an acquire that met others. So a lock
/// that nobody else wanted and that was soon given back never cost a command for it, and nobody
/// could have asked about it either. Only for people: nothing is decided by it.
namespace holdfast {

class label_writer {
public:
    explicit label_writer(command_engine& engine) : engine_(engine) {}

    /// Told once, before the first request.
    void set(const client_id& id, const client_label& who);

    /// This client holds or waits for something for at least `ttl` more: writes who it is, unless
    /// that is known for long enough. Does not wait; a failure is tried again half a minute later.
    void stay_known(duration ttl);

    [[nodiscard]] static std::string key_of(std::string_view client);
    /// Empty if it is not what we write.
    [[nodiscard]] static client_label parse(std::string_view text);

private:
    struct memory;

    command_engine& engine_;
    std::string key_;
    std::string text_;
    std::shared_ptr<memory> memory_;  // null: nobody was introduced
};

}  // namespace holdfast
